import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SetupError } from '../setup-error.mjs';
import { versions } from '../versions.mjs';

const exec = promisify(execFile);

/** First version number in a text as [major, minor]; null when there is none. */
export function versionIn(text) {
  const found = /(\d+)(?:\.(\d+))?/.exec(text);
  return found === null ? null : [Number(found[1]), Number(found[2] ?? 0)];
}

const atLeast = ([major, minor], [wantedMajor, wantedMinor]) =>
  major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);

function requirements(root) {
  const go = /^go (\S+)$/m.exec(readFileSync(join(root, 'go.mod'), 'utf8'))?.[1] ?? '1.21';
  return [
    {
      name: 'Node.js',
      minimum: [versions.nodeMinimum, 0],
      ask: async () => process.versions.node,
      get: 'https://nodejs.org/en/download (any version from 20 on)',
    },
    {
      name: 'Java',
      minimum: [versions.javaMinimum, 0],
      // Prints to stderr: openjdk version "17.0.15" ...
      ask: async () => /version "([^"]+)"/.exec((await exec('java', ['-version'])).stderr)?.[1] ?? '',
      get: 'sudo apt-get install openjdk-17-jre-headless',
    },
    {
      name: 'Maven',
      minimum: [3, 0],
      ask: async () => /Apache Maven (\S+)/.exec((await exec('mvn', ['-B', '-v'])).stdout)?.[1] ?? '',
      get: 'sudo apt-get install maven',
    },
    {
      name: 'Go',
      minimum: versionIn(go),
      ask: async () => /go(\d\S*)/.exec((await exec('go', ['version'], { cwd: '/' })).stdout)?.[1] ?? '',
      get: 'https://go.dev/dl/',
    },
    {
      name: 'git',
      minimum: [2, 0],
      ask: async () => (await exec('git', ['--version'])).stdout,
      get: 'sudo apt-get install git',
    },
  ];
}

/** What must be on the machine before anything else: each thing that is missing or too old costs one line. */
export const requiredTools = {
  title: 'required tools',
  async run({ root }) {
    const problems = await Promise.all(
      requirements(root).map(async ({ name, minimum, ask, get }) => {
        const said = await ask().catch(() => null);
        const found = said === null ? null : versionIn(said);
        if (found === null) return `${name} ${minimum.join('.')} or newer is missing: ${get}`;
        if (!atLeast(found, minimum)) {
          return `${name} ${found.join('.')} is too old, ${minimum.join('.')} or newer is needed: ${get}`;
        }
        return null;
      }),
    );
    const lines = problems.filter((line) => line !== null);
    if (lines.length > 0) throw new SetupError(lines.join('\n'));
    return 'present';
  },
};
