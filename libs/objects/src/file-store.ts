import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ObjectRef } from '@espalier/contracts';
import { DirectorySync } from './directory-sync.ts';
import { checkKey, seal, unseal, verifyStored } from './content.ts';
import { ObjectStoreError } from './errors.ts';
import type { ObjectStore, PutOptions, StoredObject } from './store.ts';

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';

function writeError(key: string, error: unknown): ObjectStoreError {
  const code = codeOf(error);
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new ObjectStoreError(
      'OBJECT_STORE_FULL',
      `object ${key}: no space left in the object store; free or enlarge it`,
      {
        retryable: true,
        cause: error,
      },
    );
  return new ObjectStoreError('OBJECT_STORE_UNAVAILABLE', `object ${key}: ${String(error)}`, {
    retryable: true,
    cause: error,
  });
}

/** Objects as files below one directory. Temporary file, fsync, rename, fsync of the directory: a crash leaves no half object. */
export class FileObjectStore implements ObjectStore {
  private readonly root: string;
  private readonly directories = new DirectorySync();

  constructor(root: string) {
    this.root = root;
  }

  async put(content: Buffer, options: PutOptions): Promise<ObjectRef> {
    const { ref, stored } = await seal(content, options);
    const path = this.pathOf(ref.key);
    try {
      if (await this.touch(path, stored.length)) return ref;
      const directory = dirname(path);
      await mkdir(directory, { recursive: true });
      const temporary = join(directory, `.${ref.sha256}.${randomUUID()}.tmp`);
      try {
        const file = await open(temporary, 'wx', 0o640);
        try {
          await file.writeFile(stored);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(temporary, path);
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
      await this.directories.sync(directory);
      return ref;
    } catch (error) {
      throw writeError(ref.key, error);
    }
  }

  async get(ref: ObjectRef): Promise<Buffer> {
    return unseal(ref, await this.read(ref.key));
  }

  async getStored(key: string): Promise<Buffer> {
    const stored = await this.read(key);
    verifyStored(key, stored);
    return stored;
  }

  async exists(key: string): Promise<boolean> {
    return stat(this.pathOf(key)).then(
      () => true,
      () => false,
    );
  }

  async remove(key: string): Promise<void> {
    await rm(this.pathOf(key), { force: true });
  }

  async *list(prefix: string): AsyncIterable<StoredObject> {
    const entries = await readdir(this.pathOf(prefix), { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const key = `${prefix}/${entry.name}`;
      if (entry.isDirectory()) yield* this.list(key);
      else if (!entry.name.startsWith('.')) {
        const info = await stat(this.pathOf(key));
        yield { key, bytes: info.size, modifiedAt: info.mtimeMs };
      }
    }
  }

  /** Renews the time of an object that is there whole, so that a sweep of old ones leaves it alone. */
  private async touch(path: string, bytes: number): Promise<boolean> {
    const known = await stat(path).catch(() => null);
    if (!known || known.size !== bytes) return false;
    const now = new Date();
    await utimes(path, now, now);
    return true;
  }

  private pathOf(key: string): string {
    checkKey(key);
    return join(this.root, key);
  }

  private async read(key: string): Promise<Buffer> {
    try {
      return await readFile(this.pathOf(key));
    } catch (error) {
      if (error instanceof ObjectStoreError) throw error;
      if (codeOf(error) === 'ENOENT') throw new ObjectStoreError('OBJECT_MISSING', `object ${key} is not in the store`);
      throw new ObjectStoreError('OBJECT_STORE_UNAVAILABLE', `object ${key}: ${String(error)}`, {
        retryable: true,
        cause: error,
      });
    }
  }
}
