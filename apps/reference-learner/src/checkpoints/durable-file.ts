import { open, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Replaces a file so that it is either the old one or the new one, whole, whenever the machine stops. */
export async function writeDurably(path: string, content: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    const file = await open(temporary, 'w');
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
