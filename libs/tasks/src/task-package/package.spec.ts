import fc from 'fast-check';
import { pack } from 'tar-stream';
import { describe, expect, it } from 'vitest';
import { taskFilesOf } from '../../test-support/task-builder.ts';
import type { TaskFile } from '../task-directory/task-files.ts';
import { packTask, sha256Of } from './pack-task.ts';
import { unpackFiles, unpackTask } from './unpack-task.ts';

const segment = fc.stringMatching(/^[a-zA-Z0-9äß_-][a-zA-Z0-9äß._-]{0,30}$/);
const file: fc.Arbitrary<TaskFile> = fc.record({
  path: fc.array(segment, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/')),
  mode: fc.constantFrom(0o644 as const, 0o755 as const),
  content: fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes)),
});
const files = fc.uniqueArray(file, { minLength: 1, maxLength: 12, selector: ({ path }) => path });

async function tarOf(header: Parameters<ReturnType<typeof pack>['entry']>[0], content = ''): Promise<Buffer> {
  const archive = pack();
  archive.entry(header, content);
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

describe('a task package', () => {
  it('holds what was packed, whatever the names and bytes', async () => {
    await fc.assert(
      fc.asyncProperty(files, async (given) => {
        const found = await unpackFiles(await packTask(given));
        expect(found.map(({ path }) => path)).toEqual(given.map(({ path }) => path).sort());
        for (const { path, mode, content } of given) {
          expect(found.find((one) => one.path === path)).toEqual({ path, mode, content });
        }
      }),
      { numRuns: 60 },
    );
  });

  it('has equal bytes for equal files in any order', async () => {
    await fc.assert(
      fc.asyncProperty(
        files.chain((given) => fc.tuple(fc.constant(given), fc.shuffledSubarray(given, { minLength: given.length }))),
        async ([given, shuffled]) => {
          expect(sha256Of(await packTask(shuffled))).toBe(sha256Of(await packTask(given)));
        },
      ),
      { numRuns: 40 },
    );
  });

  it('keeps its bytes from release to release: the key of a stored package is their hash', async () => {
    expect(sha256Of(await packTask(taskFilesOf()))).toMatchInlineSnapshot(
      `"a580aa55924de32f5cadcbc88c29dd19c26555e10f7869adaf62f701739bd1bf"`,
    );
  });

  it('is validated when it is unpacked, with unknown keys as notices', async () => {
    const given = taskFilesOf({ 'task.toml': '[task]\nname = "a/b"\nnmae = "x"\n' });
    const task = await unpackTask(await packTask(given));
    expect(task.notices.map(({ key }) => key)).toEqual(['task.nmae']);
    await expect(unpackTask(await packTask(taskFilesOf({ 'tests/test.sh': null })))).rejects.toMatchObject({
      code: 'TASK_INVALID',
    });
  });

  it.each(['../escape', '/etc/passwd', 'a/../../b', './..'])('refuses the path %s', async (name) => {
    await expect(unpackFiles(await tarOf({ name }, 'x'))).rejects.toMatchObject({ code: 'TASK_PACKAGE' });
  });

  it('refuses links', async () => {
    const tar = await tarOf({ name: 'a', type: 'symlink', linkname: '/etc/passwd' });
    await expect(unpackFiles(tar)).rejects.toThrow('a is a symlink');
  });

  it('refuses bytes that are cut or no tar at all', async () => {
    const whole = await packTask(taskFilesOf());
    await expect(unpackFiles(whole.subarray(0, 700))).rejects.toMatchObject({ code: 'TASK_PACKAGE' });
    await expect(unpackFiles(Buffer.alloc(2_048, 'x'))).rejects.toMatchObject({ code: 'TASK_PACKAGE' });
    await expect(unpackFiles(Buffer.alloc(0))).rejects.toThrow('it holds no file');
  });
});
