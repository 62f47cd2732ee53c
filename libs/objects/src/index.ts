import { fileURLToPath } from 'node:url';
import { ObjectStoreError } from './errors.ts';
import { FileObjectStore } from './file-store.ts';
import type { ObjectStore } from './store.ts';

export { ObjectStoreError } from './errors.ts';
export { FileObjectStore } from './file-store.ts';
export type { ObjectStore, PutOptions, StoredObject } from './store.ts';

/** Opens the object store of a URL: `file:///absolute/path`. Throws `OBJECT_STORE_UNAVAILABLE` for other schemes. */
export function openObjectStore(url: string): ObjectStore {
  if (url.startsWith('file://')) return new FileObjectStore(fileURLToPath(url));
  throw new ObjectStoreError('OBJECT_STORE_UNAVAILABLE', `object store "${url}": only file:///path is supported`);
}
