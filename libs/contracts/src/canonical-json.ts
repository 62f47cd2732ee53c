/**
 * JSON with object keys in order, so that equal values give equal text. Undefined fields are left out, typed arrays are
 * written as arrays, dates in ISO form. Throws TypeError on what JSON cannot hold (NaN, infinities, functions, bigints).
 */
export function canonicalJson(value: unknown): string {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return JSON.stringify(value);
    case 'number':
      if (!Number.isFinite(value)) throw new TypeError(`${value} has no place in JSON`);
      return JSON.stringify(value);
    case 'object':
      break;
    default:
      throw new TypeError(`a ${typeof value} has no place in JSON`);
  }
  if (value === null) return 'null';
  if (value instanceof Date) return JSON.stringify(value);
  if (Array.isArray(value))
    return `[${value.map((item) => (item === undefined ? 'null' : canonicalJson(item))).join(',')}]`;
  if (ArrayBuffer.isView(value) && !(value instanceof DataView))
    return canonicalJson(Array.from(value as unknown as ArrayLike<number>));
  const fields = value as Readonly<Record<string, unknown>>;
  let text = '';
  for (const name of Object.keys(fields).sort()) {
    const field = fields[name];
    if (field !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${canonicalJson(field)}`;
  }
  return `{${text}}`;
}
