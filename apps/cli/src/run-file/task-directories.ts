import { glob, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { TASK_ID } from '@espalier/contracts';
import { CliError } from '../errors.ts';
import type { RunFile } from './run-file-schema.ts';

/** A task directory and the id it gets in its run. */
export interface TaskDirectory {
  readonly taskId: string;
  readonly path: string;
  readonly repeat: number;
}

type TaskEntry = NonNullable<RunFile['tasks']>[number];

/**
 * Finds the task directories that a list names, relative to `base`; `*` stands for any name. The id is the directory's
 * name unless the entry gives one. Throws `CLI_USAGE` when an entry names none or two have the same id.
 */
export async function findTaskDirectories(entries: readonly TaskEntry[], base: string): Promise<TaskDirectory[]> {
  const found: TaskDirectory[] = [];
  for (const entry of entries) {
    const { path, id, repeat } = typeof entry === 'string' ? { path: entry, id: undefined, repeat: undefined } : entry;
    const paths = await expand(path, base);
    if (id !== undefined && paths.length > 1)
      throw new CliError('CLI_USAGE', `tasks: ${path} names ${paths.length} directories; an id fits one alone`);
    for (const directory of paths)
      found.push({ taskId: id ?? taskIdOf(directory), path: directory, repeat: repeat ?? 1 });
  }
  const seen = new Map<string, string>();
  for (const { taskId, path } of found) {
    const other = seen.get(taskId);
    if (other !== undefined)
      throw new CliError('CLI_USAGE', `tasks: ${other} and ${path} would both be "${taskId}"; give one an id`);
    seen.set(taskId, path);
  }
  return found;
}

async function expand(path: string, base: string): Promise<string[]> {
  if (!/[*?[\]{}]/.test(path)) {
    const directory = resolve(base, path);
    const status = await stat(directory).catch(() => null);
    if (!status?.isDirectory()) throw new CliError('CLI_USAGE', `tasks: ${directory} is not a directory`);
    return [directory];
  }
  // A file is not a task: what has a task.toml is.
  const files: string[] = [];
  for await (const file of glob(`${path.replace(/\/$/, '')}/task.toml`, { cwd: base })) files.push(file);
  if (files.length === 0) throw new CliError('CLI_USAGE', `tasks: ${path} matches no task directory below ${base}`);
  return files.map((file) => resolve(base, dirname(file))).sort();
}

function taskIdOf(directory: string): string {
  const id = basename(directory).replaceAll(/[^A-Za-z0-9._-]/g, '-');
  if (TASK_ID.test(id)) return id;
  throw new CliError('CLI_USAGE', `tasks: ${directory} gives no valid id; use { path, id }`);
}
