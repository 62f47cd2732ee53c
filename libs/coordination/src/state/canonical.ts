import { createHash } from 'node:crypto';
import { canonicalJson } from '@espalier/contracts';

/** SHA-256 of the canonical JSON, hex. */
export const digestOf = (value: unknown): string => createHash('sha256').update(canonicalJson(value)).digest('hex');

/** A seed derived from `parts`: an integer in [0, 2^48). */
export const seedFrom = (...parts: readonly (string | number)[]): number =>
  createHash('sha256').update(parts.join('\u0000')).digest().readUIntBE(0, 6);
