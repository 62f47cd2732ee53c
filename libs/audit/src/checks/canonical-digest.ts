import { createHash } from 'node:crypto';

/** JSON with keys in code-unit order at every depth, without spaces. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const fields = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${fields.map(([name, inner]) => `${JSON.stringify(name)}:${canonical(inner)}`).join(',')}}`;
}

/** SHA-256 over the canonical JSON, hex: how a batch's digest is defined (docs/conservation.md). */
export const digestOf = (value: unknown): string => createHash('sha256').update(canonical(value)).digest('hex');
