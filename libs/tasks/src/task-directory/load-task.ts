import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { TaskInvalidError, type TaskProblem } from '../errors.ts';
import { parseTask, type LoadedTask, type ParseTaskOptions } from './parse-task.ts';
import { byPath, type TaskFile } from './task-files.ts';

/** Traces of tools and editors that are no part of a task. */
const IGNORED = new Set(['.git', '.DS_Store', '__pycache__', '.pytest_cache', 'node_modules']);

/**
 * Reads and validates a Harbor task directory.
 * @throws {TaskInvalidError} when something is wrong in it, {@link TaskUnsupportedError} when it cannot be run here.
 */
export async function loadTaskDirectory(directory: string, options: ParseTaskOptions = {}): Promise<LoadedTask> {
  const where = options.where ?? directory;
  return parseTask(await readTaskFiles(directory, where), { ...options, where });
}

/** Reads the files of a task directory, sorted by path, without judging them. */
export async function readTaskFiles(directory: string, where: string = directory): Promise<TaskFile[]> {
  const root = await realpath(directory).catch(() => null);
  if (root === null || !(await stat(root)).isDirectory()) {
    throw new TaskInvalidError(where, [{ file: '.', key: null, message: 'is not a directory' }]);
  }
  const files: TaskFile[] = [];
  const problems: TaskProblem[] = [];
  await readFolder(root, root, files, problems);
  if (problems.length > 0) throw new TaskInvalidError(where, problems);
  return files.sort(byPath);
}

async function readFolder(root: string, folder: string, files: TaskFile[], problems: TaskProblem[]): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (IGNORED.has(entry.name)) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await readFolder(root, path, files, problems);
    else await readEntry(root, path, files, problems);
  }
}

async function readEntry(root: string, path: string, files: TaskFile[], problems: TaskProblem[]): Promise<void> {
  const name = relative(root, path).split(sep).join('/');
  // A link to a file inside the task is packed as that file; anything else would mean something else on another machine.
  const target = await realpath(path).catch(() => null);
  if (target === null || !target.startsWith(root + sep)) {
    problems.push({ file: name, key: null, message: 'is a link that leads out of the task directory' });
    return;
  }
  const status = await stat(target);
  if (!status.isFile()) {
    problems.push({ file: name, key: null, message: 'is neither a file nor a directory' });
    return;
  }
  files.push({ path: name, mode: (status.mode & 0o100) === 0 ? 0o644 : 0o755, content: await readFile(target) });
}
