import type { Issue } from './issue.ts';

/** A value, or why it is none. */
export type Coerced<T> = { readonly value: T } | { readonly issues: readonly Issue[] };

type Location = readonly (string | number)[];

const issue = (type: string, loc: Location, msg: string, input: unknown): { issues: Issue[] } => ({
  issues: [{ type, loc, msg, input }],
});

/** Strings only: no coercion. */
export function asString(input: unknown, loc: Location): Coerced<string> {
  return typeof input === 'string'
    ? { value: input }
    : issue('string_type', loc, 'Input should be a valid string', input);
}

const TRUE = new Set(['true', 't', 'yes', 'y', 'on', '1']);
const FALSE = new Set(['false', 'f', 'no', 'n', 'off', '0']);

/** Booleans, their words in any case, 1 and 0. */
export function asBoolean(input: unknown, loc: Location): Coerced<boolean> {
  if (typeof input === 'boolean') return { value: input };
  if (typeof input === 'string') {
    if (TRUE.has(input.toLowerCase())) return { value: true };
    if (FALSE.has(input.toLowerCase())) return { value: false };
  }
  if (input === 1) return { value: true };
  if (input === 0) return { value: false };
  return typeof input === 'string' || typeof input === 'number'
    ? issue('bool_parsing', loc, 'Input should be a valid boolean, unable to interpret input', input)
    : issue('bool_type', loc, 'Input should be a valid boolean', input);
}

const INTEGER_TEXT = /^\s*([+-]?)(\d+(?:_\d+)*)(?:\.0*)?\s*$/;

/** Integers, whole floats, their texts with sign, underscores, spaces and `.0`, and booleans. */
export function asInteger(input: unknown, loc: Location): Coerced<number> {
  if (typeof input === 'boolean') return { value: input ? 1 : 0 };
  if (typeof input === 'number')
    return Number.isInteger(input)
      ? { value: input }
      : issue('int_from_float', loc, 'Input should be a valid integer, got a number with a fractional part', input);
  if (typeof input === 'string') {
    const match = INTEGER_TEXT.exec(input);
    if (match) return { value: Number(`${match[1] ?? ''}${(match[2] ?? '').replaceAll('_', '')}`) };
    return issue('int_parsing', loc, 'Input should be a valid integer, unable to parse string as an integer', input);
  }
  return issue('int_type', loc, 'Input should be a valid integer', input);
}

/** An object whose values are strings. */
export function asStringMap(input: unknown, loc: Location): Coerced<Record<string, string>> {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return issue('dict_type', loc, 'Input should be a valid dictionary', input);
  const issues = Object.entries(input).flatMap(([name, value]) => {
    const read = asString(value, [...loc, name]);
    return 'issues' in read ? read.issues : [];
  });
  return issues.length > 0 ? { issues } : { value: input as Record<string, string> };
}

/** A list of strings. */
export function asStringList(input: unknown, loc: Location): Coerced<string[]> {
  if (!Array.isArray(input)) return issue('list_type', loc, 'Input should be a valid list', input);
  const issues = input.flatMap((value: unknown, index) => {
    const read = asString(value, [...loc, index]);
    return 'issues' in read ? read.issues : [];
  });
  return issues.length > 0 ? { issues } : { value: input as string[] };
}

/** `str | list[str]`: the issues of both branches, when neither fits. */
export function asCommand(input: unknown, loc: Location): Coerced<string | string[]> {
  const text = asString(input, [...loc, 'str']);
  if ('value' in text) return text;
  const list = asStringList(input, [...loc, 'list[str]']);
  return 'value' in list ? list : { issues: [...text.issues, ...list.issues] };
}
