/**
 * Whether two plain values are equal in every field. Decoded records of different topics have different prototypes, so
 * that strict equality would tell equal ones apart.
 */
export function same(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const fields = Object.entries(left);
  if (fields.length !== Object.keys(right).length) return false;
  return fields.every(([name, value]) => same(value, (right as Record<string, unknown>)[name]));
}
