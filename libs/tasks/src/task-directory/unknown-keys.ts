import { z } from 'zod';
import type { TaskProblem } from '../errors.ts';

/**
 * Keys of `value` that `schema` does not know, each with the nearest known key. Harbor's models drop such keys without
 * a word, so that a misspelt `timeout_secs` would silently mean the default.
 */
export function unknownKeys(
  schema: z.core.$ZodType,
  value: unknown,
  file: string,
  path: readonly string[] = [],
): TaskProblem[] {
  const known = unwrap(schema);
  if (known instanceof z.ZodArray) {
    if (!Array.isArray(value)) return [];
    return value.flatMap((item, index) => unknownKeys(known.element, item, file, [...path, String(index)]));
  }
  if (known instanceof z.ZodUnion) {
    const table = known.options.find((option) => unwrap(option) instanceof z.ZodObject);
    return table && isTable(value) ? unknownKeys(table, value, file, path) : [];
  }
  if (!(known instanceof z.ZodObject) || !isTable(value)) return [];
  const shape: Record<string, z.core.$ZodType> = known.shape;
  return Object.entries(value).flatMap(([key, item]) => {
    const inner = shape[key];
    if (inner) return unknownKeys(inner, item, file, [...path, key]);
    return [{ file, key: [...path, key].join('.'), message: `unknown key${suggestion(key, Object.keys(shape))}` }];
  });
}

const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodNullable
  ) {
    return unwrap(schema.unwrap());
  }
  return schema instanceof z.ZodPipe ? unwrap(schema.in) : schema;
}

/** `; did you mean "x"?` for the nearest known key within a third of its length, else the list of known keys. */
function suggestion(key: string, known: readonly string[]): string {
  const [nearest] = known
    .map((name) => ({ name, edits: editDistance(key.toLowerCase(), name) }))
    .sort((left, right) => left.edits - right.edits);
  if (nearest && nearest.edits <= Math.max(2, Math.floor(nearest.name.length / 3))) {
    return `; did you mean "${nearest.name}"?`;
  }
  return `; known here: ${known.join(', ')}`;
}

/** Levenshtein distance. */
export function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const substituted = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}
