import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { retrying, run } from '../process.mjs';
import { SetupError } from '../setup-error.mjs';

function installed() {
  try {
    return execFileSync('bwrap', ['--version'], { encoding: 'utf8' }).trim();
  } catch {
    return null;
  }
}

/** bubblewrap: the namespaces of local sandboxes. Installed where that needs nobody's password. */
export const bubblewrap = {
  title: 'bubblewrap',
  async run({ root, log }) {
    const found = installed();
    if (found !== null) return found;
    if (process.platform !== 'linux') {
      throw new SetupError(
        `Local sandboxes need Linux namespaces, this is ${process.platform}: run in a Linux machine.`,
      );
    }
    if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
      throw new SetupError('bubblewrap is missing: sudo apt-get install bubblewrap');
    }
    const apt = (...args) =>
      run('apt-get', ['-q', '-o', 'DPkg::Lock::Timeout=300', ...args], {
        cwd: root,
        log,
        env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      });
    await retrying(3, async () => {
      await apt('update');
      await apt('install', '-y', '--no-install-recommends', 'bubblewrap');
    });
    return `${installed()} installed`;
  },
};
