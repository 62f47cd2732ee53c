import { createHash } from 'node:crypto';

/** Namespace of every id that Espalier derives. */
const NAMESPACE = Buffer.from('6f1d7a520c3b5f5e9a772f6f1c9ad7e4', 'hex');

/** A UUIDv5 of the parts: equal parts give the equal id, whatever process derives it. */
export function derivedId(...parts: readonly (string | number)[]): string {
  const bytes = createHash('sha1').update(NAMESPACE).update(JSON.stringify(parts)).digest();
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
