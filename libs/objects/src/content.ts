import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import type { ObjectRef } from '@espalier/contracts';
import { ObjectStoreError } from './errors.ts';
import type { PutOptions } from './store.ts';

const compressAsync = promisify(zstdCompress);
const decompressAsync = promisify(zstdDecompress);

/** Level 1: on packed token arrays level 3 is no smaller. */
const PARAMS = { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 0 };

/**
 * zlib hands out its result in pieces of 16 KiB, and goes to its thread and back for each. A piece that takes all of it, with room
 * so that it is not full, needs one turn.
 */
const pieceFor = (bytes: number): number => Math.min(bytes, MAX_PIECE) + 1024;
/** What is larger comes in several pieces: one piece is held in memory whatever the result comes to. */
const MAX_PIECE = 8 * 1024 * 1024;

const KEY_PART = /^[A-Za-z0-9._@#=-]+$/;

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Refuses keys that could leave the store's root. */
export function checkKey(key: string): void {
  const parts = key.split('/');
  if (parts.some((part) => !KEY_PART.test(part) || part === '.' || part === '..'))
    throw new ObjectStoreError('OBJECT_KEY_INVALID', `object key "${key}" is not a path of plain names`);
}

/** The bytes to store for `content`, and their reference. */
export async function seal(content: Buffer, options: PutOptions): Promise<{ ref: ObjectRef; stored: Buffer }> {
  const compress = options.compress ?? true;
  const stored = compress
    ? await compressAsync(content, { params: PARAMS, chunkSize: pieceFor(content.length) })
    : content;
  const hash = sha256(stored);
  const key = `${options.prefix}/${hash}`;
  checkKey(key);
  return {
    stored,
    ref: {
      key,
      sha256: hash,
      bytes: stored.length,
      content_digest: compress ? sha256(content) : hash,
      content_bytes: content.length,
      media_type: options.mediaType,
      encoding: compress ? 'zstd' : 'identity',
    },
  };
}

/** Verifies stored bytes against the hash that ends their key. Throws `OBJECT_CORRUPT`. */
export function verifyStored(key: string, stored: Buffer): void {
  const expected = key.slice(key.lastIndexOf('/') + 1);
  const found = sha256(stored);
  if (found !== expected)
    throw new ObjectStoreError(
      'OBJECT_CORRUPT',
      `object ${key}: stored bytes hash to ${found}; restore it from a replica`,
    );
}

/** Undoes {@link seal}. Throws `OBJECT_CORRUPT`. */
export async function unseal(ref: ObjectRef, stored: Buffer): Promise<Buffer> {
  verifyStored(ref.key, stored);
  if (ref.encoding === 'identity') return stored;
  if (ref.encoding !== 'zstd')
    throw new ObjectStoreError('OBJECT_CORRUPT', `object ${ref.key}: unknown encoding "${ref.encoding}"`);
  const content = await decompressAsync(stored, {
    maxOutputLength: Math.max(1, ref.content_bytes),
    chunkSize: pieceFor(ref.content_bytes),
  }).catch((error: unknown) => {
    throw new ObjectStoreError('OBJECT_CORRUPT', `object ${ref.key} does not decompress`, { cause: error });
  });
  if (content.length !== ref.content_bytes)
    throw new ObjectStoreError(
      'OBJECT_CORRUPT',
      `object ${ref.key}: ${content.length} bytes, its event says ${ref.content_bytes}`,
    );
  return content;
}
