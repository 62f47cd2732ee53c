import { createHash } from 'node:crypto';
import { pack } from 'tar-stream';
import { readTaskFiles } from '../task-directory/load-task.ts';
import { byPath, type TaskFile } from '../task-directory/task-files.ts';

/**
 * Packs files as an uncompressed tar. Equal files give equal bytes: entries are sorted, times are zero, owners are root.
 * No directory entries are written; extracting makes parents.
 */
export async function packFiles(files: readonly TaskFile[]): Promise<Buffer> {
  const archive = pack();
  const bytes = collect(archive);
  for (const { path, mode, content } of [...files].sort(byPath)) {
    archive.entry({ name: path, mode, mtime: new Date(0), uid: 0, gid: 0, uname: '', gname: '' }, content);
  }
  archive.finalize();
  return bytes;
}

/** Packs a task directory, or files read from one, as the body of a task package. */
export async function packTask(task: string | readonly TaskFile[]): Promise<Buffer> {
  return packFiles(typeof task === 'string' ? await readTaskFiles(task) : task);
}

/** SHA-256 of a package or of any bytes, hex. */
export const sha256Of = (content: Uint8Array | string): string => createHash('sha256').update(content).digest('hex');

async function collect(stream: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
