import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run } from '../process.mjs';
import { contentDigest, filesUnder, isStamped, stamp } from '../stamps.mjs';

const binaries = [
  { source: './apps/sandbox-agent', target: ['bin', 'sandbox-agent'] },
  { source: './apps/mini-agent', target: ['payloads', 'mini', 'mini-agent'] },
];

/** The static binaries that run inside sandboxes. */
export const goBinaries = {
  title: 'sandbox binaries',
  async run({ root, log }) {
    const sources = filesUnder([join(root, 'apps'), join(root, 'libs')], (name) => name.endsWith('.go'));
    const modules = ['go.mod', 'go.sum'].map((name) => join(root, name)).filter((file) => existsSync(file));
    const digest = contentDigest(root, [...sources, ...modules]);
    const targets = binaries.map(({ target }) => join(root, '.espalier', ...target));
    if (targets.every((target) => existsSync(target)) && isStamped(root, 'go-binaries', digest)) return 'up to date';
    for (const [index, { source }] of binaries.entries()) {
      mkdirSync(dirname(targets[index]), { recursive: true });
      await run('go', ['build', '-trimpath', '-ldflags', '-s -w', '-o', targets[index], source], {
        cwd: root,
        log,
        env: { ...process.env, CGO_ENABLED: '0' },
      });
    }
    stamp(root, 'go-binaries', digest);
    return 'built';
  },
};
