import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { now } from '../measure/clock.ts';

/** What {@link bareSandboxStarts} measures. */
export const BARE_SANDBOX =
  'a bare sandbox: tmpfs, overlay of /, bwrap with all namespaces, `bash -c true`, ended again';

/** What {@link forkExecs} measures. */
export const FORK_EXEC = 'fork and exec of `bash -c true`, waited for';

const BARE = [
  'mount -t tmpfs -o size=64m tmpfs "$1"',
  'mkdir "$1/upper" "$1/work" "$1/root"',
  'mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"',
  'exec bwrap --bind "$1/root" / --proc /proc --dev /dev --tmpfs /tmp --unshare-all --cap-drop ALL --die-with-parent bash -c true',
].join(' && ');

function run(command: string, args: readonly string[]): Promise<number> {
  const begun = now();
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (bytes: Buffer) => (said += bytes.toString()));
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve(now() - begun) : reject(new Error(`${command}: exit ${code}: ${said.trim()}`)),
    );
  });
}

/** Milliseconds of `count` starts of a bare sandbox, one after another. Needs root, as the overlay does. */
export async function bareSandboxStarts(count: number): Promise<number[]> {
  const times: number[] = [];
  for (let index = -2; index < count; index += 1) {
    const dir = mkdtempSync(join(tmpdir(), 'espalier-floor-'));
    try {
      const took = await run('unshare', ['--mount', 'sh', '-c', BARE, 'sh', dir]);
      if (index >= 0) times.push(took);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  }
  return times;
}

/** Milliseconds of `count` runs of `bash -c true`, one after another. */
export async function forkExecs(count: number): Promise<number[]> {
  const times: number[] = [];
  for (let index = -5; index < count; index += 1) {
    const took = await run('bash', ['-c', 'true']);
    if (index >= 0) times.push(took);
  }
  return times;
}
