import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../process.mjs';
import { filesUnder, isStamped, stamp, timesDigest } from '../stamps.mjs';
import { nodeBinary, nodeEnvironment } from './node-runtime.mjs';

/** Everything in TypeScript, by project references; `tsc` itself decides which projects are out of date. */
export const typescriptBuild = {
  title: 'TypeScript build',
  async run({ root, log }) {
    const wanted = (name) => /\.(ts|tsx|mts)$/.test(name) || /^(tsconfig.*|package)\.json$/.test(name);
    const sources = filesUnder([join(root, 'libs'), join(root, 'apps')], wanted);
    const configs = ['tsconfig.json', 'tsconfig.base.json', 'package-lock.json'].map((name) => join(root, name));
    const digest = timesDigest(root, [...sources, ...configs]);
    const { references } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'));
    const complete = references.every(({ path }) => existsSync(join(root, path, 'dist')));
    if (complete && isStamped(root, 'typescript', digest)) return 'up to date';
    await run(nodeBinary(root), [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-b'], {
      cwd: root,
      log,
      env: nodeEnvironment(root),
    });
    stamp(root, 'typescript', digest);
    return 'built';
  },
};
