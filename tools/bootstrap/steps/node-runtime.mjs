import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError } from '../setup-error.mjs';

/** The Node 24 that everything after setup runs on: from the npm package for this machine, or the one running now. */
export function nodeBinary(root) {
  const brought = join(root, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  return existsSync(brought) ? brought : process.execPath;
}

/** The environment in which `node`, `npx` and what they start are that Node and the repository's own tools. */
export function nodeEnvironment(root) {
  const path = [join(nodeBinary(root), '..'), join(root, 'node_modules', '.bin'), process.env.PATH].join(':');
  return { ...process.env, PATH: path };
}

export const nodeRuntime = {
  title: 'Node 24',
  async run({ root }) {
    const version = execFileSync(nodeBinary(root), ['--version'], { encoding: 'utf8' }).trim();
    if (Number(/^v(\d+)/.exec(version)?.[1]) >= 24) return version;
    throw new SetupError(
      `Node 24 does not come as an npm package for ${process.platform}-${process.arch} and this is ${version}: install Node 24 from https://nodejs.org/en/download`,
    );
  },
};
