import { extract } from 'tar-stream';
import { TaskPackageError } from '../errors.ts';
import { parseTask, type LoadedTask, type ParseTaskOptions } from '../task-directory/parse-task.ts';
import { byPath, type TaskFile } from '../task-directory/task-files.ts';

/** Largest package that is unpacked in memory, bytes. */
export const MAX_PACKAGE_BYTES = 256 * 1024 * 1024;

/**
 * Reads the files of a package.
 * @throws {TaskPackageError} when the bytes are no tar, are cut short, or hold a path or kind of entry that no task has.
 */
export async function unpackFiles(tar: Uint8Array): Promise<TaskFile[]> {
  if (tar.byteLength > MAX_PACKAGE_BYTES) {
    throw new TaskPackageError(`${tar.byteLength} bytes exceed the limit of ${MAX_PACKAGE_BYTES}`);
  }
  const files = new Map<string, TaskFile>();
  const reader = extract();
  reader.end(Buffer.from(tar.buffer, tar.byteOffset, tar.byteLength));
  try {
    for await (const entry of reader) {
      const { name, type, mode } = entry.header;
      const chunks: Buffer[] = [];
      for await (const chunk of entry) chunks.push(chunk as Buffer);
      if (type === 'directory') continue;
      if (type !== 'file' && type !== 'contiguous-file') throw new TaskPackageError(`${name} is a ${type}, not a file`);
      const path = checkedPath(name);
      files.set(path, { path, mode: ((mode ?? 0) & 0o100) === 0 ? 0o644 : 0o755, content: Buffer.concat(chunks) });
    }
  } catch (error) {
    if (error instanceof TaskPackageError) throw error;
    throw new TaskPackageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
  if (files.size === 0) throw new TaskPackageError('it holds no file');
  return [...files.values()].sort(byPath);
}

/**
 * Reads and validates a package. Unknown keys of task.toml are notices here, unlike in {@link loadTaskDirectory}: the
 * author could still mend them, the worker that holds a package cannot.
 */
export async function unpackTask(tar: Uint8Array, options: ParseTaskOptions = {}): Promise<LoadedTask> {
  return parseTask(await unpackFiles(tar), { unknownKeys: 'notice', where: 'The task package', ...options });
}

function checkedPath(name: string): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (name.startsWith('/') || parts.length === 0 || parts.includes('..')) {
    throw new TaskPackageError(`the entry ${JSON.stringify(name)} leads out of the task`);
  }
  return parts.join('/');
}
