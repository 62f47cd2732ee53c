import type { ObjectRef } from '@espalier/contracts';

/** How an object is put. */
export interface PutOptions {
  /** Folder of the key, e.g. `runs/<run>/trajectories` or `packages`; slashes separate levels. */
  readonly prefix: string;
  readonly mediaType: string;
  /** zstd-compress before storing (default true). */
  readonly compress?: boolean;
}

/** What is known of a stored object without reading it. */
export interface StoredObject {
  readonly key: string;
  readonly bytes: number;
  /** Last put or touch, milliseconds UTC. */
  readonly modifiedAt: number;
}

/**
 * Content-addressed, immutable bodies. An object is durable when `put` resolves, so an event that names it may be
 * produced. Putting equal content again renews its time and returns the same reference.
 */
export interface ObjectStore {
  /** Throws {@link ObjectStoreError} with `OBJECT_STORE_FULL` or `OBJECT_STORE_UNAVAILABLE`. */
  put(content: Buffer, options: PutOptions): Promise<ObjectRef>;
  /** The uncompressed content, verified against the reference. Throws `OBJECT_MISSING` or `OBJECT_CORRUPT`. */
  get(ref: ObjectRef): Promise<Buffer>;
  /** Stored (perhaps compressed) bytes by key, verified against the key's hash. */
  getStored(key: string): Promise<Buffer>;
  exists(key: string): Promise<boolean>;
  /** Removes an object; missing ones are ignored. */
  remove(key: string): Promise<void>;
  list(prefix: string): AsyncIterable<StoredObject>;
}
