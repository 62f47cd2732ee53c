import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '..', '..');
const bootstrap = join(root, 'tools', 'bootstrap');

/** Plain modules without types: what each test uses of them is named here. */
const load = async <T>(...path: string[]): Promise<T> =>
  (await import(/* @vite-ignore */ pathToFileURL(join(bootstrap, ...path)).href)) as T;

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

describe('the sum of all tests', () => {
  it('is said in one line, skipped tests only if there are any', async () => {
    const { summary, add } = await load<{
      summary: (counts: Counts) => string;
      add: (a: Counts, b: Counts) => Counts;
    }>('tests', 'totals.mjs');
    const sum = add({ passed: 120, failed: 0, skipped: 0 }, { passed: 3, failed: 0, skipped: 0 });
    expect(summary(sum)).toBe('123 passed, 0 failed');
    expect(summary(add(sum, { passed: 0, failed: 1, skipped: 2 }))).toBe('123 passed, 1 failed, 2 skipped');
  });

  it('counts a Vitest file that does not load, and errors outside of tests', async () => {
    const { countsOf } = await load<{ countsOf: (report: unknown, code: number) => Counts }>(
      'tests',
      'vitest-project.mjs',
    );
    const report = (numFailedTests: number, files: { status: string; tests: string[] }[]): unknown => ({
      numFailedTests,
      numPassedTests: 5,
      numPendingTests: 1,
      numTodoTests: 0,
      testResults: files.map(({ status, tests }) => ({
        status,
        assertionResults: tests.map((test) => ({ status: test })),
      })),
    });
    const failedFile = { status: 'failed', tests: ['passed', 'failed'] };
    expect(countsOf(report(1, [failedFile]), 1)).toEqual({ passed: 5, failed: 1, skipped: 1 });
    expect(countsOf(report(1, [failedFile, { status: 'failed', tests: [] }]), 1).failed).toBe(2);
    expect(countsOf(report(0, [{ status: 'passed', tests: ['passed'] }]), 1).failed).toBe(1);
    expect(countsOf(report(0, [{ status: 'passed', tests: ['passed'] }]), 0).failed).toBe(0);
  });

  it('counts Go tests without counting parents twice, and packages that do not compile', async () => {
    const { goTally } = await load<{ goTally: () => { take: (line: string) => string | null; counts: () => Counts } }>(
      'tests',
      'go-tests.mjs',
    );
    const tally = goTally();
    const take = (event: Record<string, string>): string | null => tally.take(JSON.stringify(event));
    for (const Test of ['TestTree/left', 'TestTree/right', 'TestTree', 'TestAlone']) {
      take({ Action: 'pass', Package: 'a', Test });
    }
    take({ Action: 'output', Package: 'a', Test: 'TestBad', Output: 'what it said\n' });
    expect(take({ Action: 'fail', Package: 'a', Test: 'TestBad' })).toBe('what it said\n');
    take({ Action: 'fail', Package: 'a' });
    take({ Action: 'skip', Package: 'a', Test: 'TestLater' });
    take({ Action: 'fail', Package: 'does-not-compile' });
    expect(tally.counts()).toEqual({ passed: 3, failed: 2, skipped: 1 });
  });
});

describe('setup', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'espalier-setup-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  const tool = (name: string, script: string): void => {
    writeFileSync(join(dir, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  };
  const program = `
    import { requiredTools } from ${JSON.stringify(pathToFileURL(join(bootstrap, 'steps', 'required-tools.mjs')).href)};
    try {
      console.log(await requiredTools.run({ root: ${JSON.stringify(root)} }));
    } catch (error) {
      console.log(error.name + '\\n' + error.message);
    }`;
  const ask = async (): Promise<string[]> => {
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { env: { PATH: dir } });
    return stdout.trim().split('\n');
  };

  it('says in one line each what is missing or too old, and how to get it', async () => {
    symlinkSync('/bin/sh', join(dir, 'sh'));
    tool('java', `echo 'openjdk version "11.0.2" 2019-01-15' >&2`);
    tool('go', `echo 'go version go1.99.1 linux/amd64'`);
    tool('git', `echo 'git version 2.39.5'`);
    const [name, ...lines] = await ask();
    expect(name).toBe('SetupError');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^Java 11\.0 is too old, 17\.0 or newer is needed: .+/);
    expect(lines[1]).toMatch(/^Maven 3\.0 or newer is missing: .+/);
  });

  it('is content with what it needs', async () => {
    tool('java', `echo 'openjdk version "17.0.15" 2025-04-15' >&2`);
    tool('mvn', `echo 'Apache Maven 3.8.7'`);
    tool('go', `echo 'go version go1.99.1 linux/amd64'`);
    tool('git', `echo 'git version 2.39.5'`);
    expect(await ask()).toEqual(['present']);
  });

  it('installs packages only when those that are there differ from the lock file', async () => {
    const { packagesMatch } = await load<{ packagesMatch: (root: string) => boolean }>('steps', 'packages.mjs');
    const write = (file: string, packages: unknown): void => writeFileSync(file, JSON.stringify({ packages }));
    const locked = {
      '': { name: 'root' },
      'libs/a': {},
      'node_modules/x': { version: '1.0.0', integrity: 'i1' },
      'node_modules/other-platform': { version: '2.0.0', integrity: 'i2', optional: true },
    };
    write(join(dir, 'package-lock.json'), locked);
    expect(packagesMatch(dir)).toBe(false);
    mkdirSync(join(dir, 'node_modules'));
    const installed = join(dir, 'node_modules', '.package-lock.json');
    write(installed, { 'node_modules/x': { version: '1.0.0', integrity: 'i1' } });
    expect(packagesMatch(dir)).toBe(true);
    write(installed, { 'node_modules/x': { version: '1.0.1', integrity: 'i3' } });
    expect(packagesMatch(dir)).toBe(false);
    write(installed, {});
    expect(packagesMatch(dir)).toBe(false);
  });

  it('runs a step again when its sources change, and only then', async () => {
    const { contentDigest, filesUnder, isStamped, stamp } = await load<{
      contentDigest: (root: string, files: string[]) => string;
      filesUnder: (folders: string[], wanted: (name: string) => boolean) => string[];
      isStamped: (root: string, name: string, digest: string) => boolean;
      stamp: (root: string, name: string, digest: string) => void;
    }>('stamps.mjs');
    mkdirSync(join(dir, 'src', 'dist'), { recursive: true });
    const digest = (): string =>
      contentDigest(
        dir,
        filesUnder([join(dir, 'src')], (name) => name.endsWith('.go')),
      );
    writeFileSync(join(dir, 'src', 'a.go'), 'package a');
    const first = digest();
    expect(isStamped(dir, 'step', first)).toBe(false);
    stamp(dir, 'step', first);
    writeFileSync(join(dir, 'src', 'dist', 'b.go'), 'package b');
    writeFileSync(join(dir, 'src', 'notes.txt'), '');
    expect(isStamped(dir, 'step', digest())).toBe(true);
    writeFileSync(join(dir, 'src', 'a.go'), 'package changed');
    expect(isStamped(dir, 'step', digest())).toBe(false);
  });
});
