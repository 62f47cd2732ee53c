import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '..', '..');
const RULE = '@nx/enforce-module-boundaries';

interface LintResult {
  readonly filePath: string;
  readonly messages: readonly { readonly ruleId: string | null; readonly message: string }[];
}

/** Lints one more source file in each package, which imports the other, and returns what the boundary rule says, by package. */
async function lintImports(imports: Readonly<Record<string, string>>): Promise<Record<string, string[]>> {
  const fileIn = (pkg: string): string => join(root, pkg, 'src', 'boundary-fixture.ts');
  const packages = Object.keys(imports);
  try {
    for (const pkg of packages) writeFileSync(fileIn(pkg), `export * from '${imports[pkg]}';\n`);
    const eslint = join(root, 'node_modules', 'eslint', 'bin', 'eslint.js');
    const { stdout } = await run(process.execPath, [eslint, '--format', 'json', ...packages.map(fileIn)], {
      cwd: root,
      maxBuffer: 32 * 1024 * 1024,
    }).catch((error: { stdout: string }) => error); // exit code 1: it found problems, as it should
    const results = JSON.parse(stdout.slice(stdout.indexOf('['))) as LintResult[];
    return Object.fromEntries(
      packages.map((pkg) => {
        const result = results.find(({ filePath }) => filePath === fileIn(pkg));
        if (result === undefined) throw new Error(`${fileIn(pkg)} was not linted`);
        return [pkg, result.messages.filter(({ ruleId }) => ruleId === RULE).map(({ message }) => message)];
      }),
    );
  } finally {
    for (const pkg of packages) rmSync(fileIn(pkg), { force: true });
  }
}

describe('module boundaries', { timeout: 180_000 }, () => {
  it('refuse imports across layers', async () => {
    const refused = await lintImports({
      'libs/kafka': '@espalier/objects',
      'libs/estimators': '@espalier/avro',
      'libs/coordination': '@espalier/kafka',
      'libs/gateway': '@espalier/nest',
      'libs/audit': '@espalier/coordination',
      'libs/trajectory': '@espalier/testing',
      'apps/cli': '@espalier/trainer-gateway',
    });
    for (const [pkg, messages] of Object.entries(refused)) {
      expect(messages, pkg).toHaveLength(1);
      expect(messages[0], pkg).toMatch(/tagged with|can only depend on/);
    }
  });

  it('refuse imports upwards, which would close a circle', async () => {
    const { 'libs/contracts': messages } = await lintImports({ 'libs/contracts': '@espalier/kafka' });
    expect(messages).toHaveLength(1);
  });

  it('let everything through that the layers allow', async () => {
    const allowed = await lintImports({
      'libs/avro': '@espalier/contracts',
      'libs/gateway': '@espalier/trajectory',
      'libs/nest': '@espalier/processor',
      'apps/sandbox-manager': '@espalier/tasks',
    });
    expect(Object.values(allowed).flat()).toEqual([]);
  });
});
