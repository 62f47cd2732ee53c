/** One file of a task directory, held in memory. */
export interface TaskFile {
  /** Path relative to the task directory, with forward slashes. */
  readonly path: string;
  /** `0o755` for executables, else `0o644`: other bits depend on the author's umask and are dropped. */
  readonly mode: 0o644 | 0o755;
  readonly content: Buffer;
}

/** Files of one folder of the task (`tests`, `solution`), with paths relative to that folder. */
export function filesBelow(files: readonly TaskFile[], folder: string): TaskFile[] {
  const prefix = `${folder}/`;
  return files
    .filter((file) => file.path.startsWith(prefix))
    .map((file) => ({ ...file, path: file.path.slice(prefix.length) }));
}

/** The file at `path`, or undefined. */
export const fileAt = (files: readonly TaskFile[], path: string): TaskFile | undefined =>
  files.find((file) => file.path === path);

/** Order of paths by code unit, the same on every machine and locale. */
export const byPath = (left: { readonly path: string }, right: { readonly path: string }): number =>
  left.path < right.path ? -1 : left.path > right.path ? 1 : 0;
