import { extract } from 'tar-stream';
import { SandboxFileError } from '@espalier/sandbox-client';
import { matchesGlob } from './glob.ts';

/** The fresh sandbox of the task's image, before the workspace is restored. */
export interface PristineFiles {
  /** Rejects with `SANDBOX_FILE` (missing) when there is no such file. */
  getFile(path: string): Promise<Uint8Array>;
}

/** Most violations that are named. */
const MAX_NAMED = 20;

/**
 * Files of a workspace snapshot that match a protected pattern and are not what the task's image has: edited or added. Hidden
 * tests are put in afterwards and cannot be touched; this is for what steers them from beside, such as `conftest.py`.
 * @param snapshot tar with names relative to `/`.
 * @param patterns globs over paths relative to `/`, e.g. `app/tests/**` or a file name after `**` and a slash.
 */
export async function changedProtectedFiles(
  snapshot: Uint8Array,
  patterns: readonly string[],
  pristine: PristineFiles,
): Promise<string[]> {
  if (patterns.length === 0) return [];
  const changed: string[] = [];
  const reader = extract();
  reader.end(Buffer.from(snapshot.buffer, snapshot.byteOffset, snapshot.byteLength));
  for await (const entry of reader) {
    const path = entry.header.name.replace(/^(?:\.?\/)+/, '').replace(/\/$/, '');
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk as Buffer);
    if (entry.header.type === 'directory' || !patterns.some((pattern) => matchesGlob(path, pattern))) continue;
    const original = entry.header.type === 'file' ? await originalOf(pristine, `/${path}`) : null;
    if (original === null || !Buffer.concat(chunks).equals(original)) changed.push(path);
    if (changed.length >= MAX_NAMED) break;
  }
  return changed;
}

async function originalOf(pristine: PristineFiles, path: string): Promise<Uint8Array | null> {
  try {
    return await pristine.getFile(path);
  } catch (error) {
    if (error instanceof SandboxFileError) return null;
    throw error;
  }
}
