import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { retrying, run } from '../process.mjs';

/** Whether `node_modules` holds exactly what the lock file asks for, by npm's own record of what it has installed. */
export function packagesMatch(root) {
  const installedFile = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(installedFile)) return false;
  const read = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;
  const locked = read(join(root, 'package-lock.json'));
  const installed = read(installedFile);
  return Object.entries(locked).every(([path, wanted]) => {
    if (!path.includes('node_modules/')) return true; // the workspace itself
    const present = installed[path];
    if (present === undefined) return wanted.optional === true || wanted.devOptional === true;
    return present.version === wanted.version && present.integrity === wanted.integrity;
  });
}

/** The npm packages of the lock file. */
export const packages = {
  title: 'packages',
  async run({ root, log }) {
    if (packagesMatch(root)) return 'up to date';
    // One dependency's install script reports to its makers unless told not to.
    const env = { ...process.env, SCARF_ANALYTICS: 'false' };
    await retrying(3, () => run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: root, log, env }));
    return 'installed';
  },
};
