import { SandboxFileError, SandboxLostError } from '@espalier/sandbox-client';
import { packFiles, type TaskFile } from '@espalier/tasks';
import { describe, expect, it } from 'vitest';
import { matchesGlob } from './glob.ts';
import { changedProtectedFiles, type PristineFiles } from './protected-files.ts';

const file = (path: string, content: string): TaskFile => ({ path, mode: 0o644, content: Buffer.from(content) });
const image: PristineFiles = {
  getFile: (path) =>
    path === '/app/tests/conftest.py'
      ? Promise.resolve(Buffer.from('original'))
      : Promise.reject(new SandboxFileError('none', path, true)),
};

describe('matchesGlob', () => {
  it.each([
    ['app/conftest.py', '**/conftest.py', true],
    ['conftest.py', '**/conftest.py', true],
    ['app/a/b/conftest.py', '**/conftest.py', true],
    ['app/conftest.pyc', '**/conftest.py', false],
    ['app/tests/a/b.txt', 'app/tests/**', true],
    ['app/test/a', 'app/tests/**', false],
    ['app/x.pth', 'app/*.pth', true],
    ['app/a/x.pth', 'app/*.pth', false],
    ['app/x1', 'app/x?', true],
    ['appxconfig', 'app.config', false],
  ])('%s against %s: %s', (path, pattern, matches) => {
    expect(matchesGlob(path, pattern)).toBe(matches);
  });
});

describe('changedProtectedFiles', () => {
  const patterns = ['**/conftest.py', '**/sitecustomize.py'];

  it('names edited and added files, and no others', async () => {
    const snapshot = await packFiles([
      file('app/main.py', 'anything'),
      file('app/conftest.py', 'added'),
      file('app/tests/conftest.py', 'edited'),
    ]);
    expect(await changedProtectedFiles(snapshot, patterns, image)).toEqual([
      'app/conftest.py',
      'app/tests/conftest.py',
    ]);
  });

  it('lets pass what is as the image has it', async () => {
    const snapshot = await packFiles([file('app/tests/conftest.py', 'original')]);
    expect(await changedProtectedFiles(snapshot, patterns, image)).toEqual([]);
    expect(await changedProtectedFiles(snapshot, [], { getFile: () => Promise.reject(new Error('unused')) })).toEqual(
      [],
    );
  });

  it('does not take a lost sandbox for a missing file', async () => {
    const snapshot = await packFiles([file('app/conftest.py', 'x')]);
    const lost = { getFile: () => Promise.reject(new SandboxLostError('gone')) };
    await expect(changedProtectedFiles(snapshot, patterns, lost)).rejects.toBeInstanceOf(SandboxLostError);
  });
});
