import { expect, it } from 'vitest';
import { canonicalJson } from './canonical-json.ts';

it('gives equal text for equal values, whatever the order of keys', () => {
  expect(canonicalJson({ b: { d: 1, c: [null, 'x'] }, a: undefined })).toBe('{"b":{"c":[null,"x"],"d":1}}');
  expect(canonicalJson({ b: [{ d: 1, a: 'x' }], a: null })).toBe('{"a":null,"b":[{"a":"x","d":1}]}');
  expect(canonicalJson(new Int32Array([1, 2]))).toBe('[1,2]');
  expect(canonicalJson({ at: new Date(0) })).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
});

it('refuses what JSON cannot hold', () => {
  expect(() => canonicalJson({ a: Infinity })).toThrow(TypeError);
  expect(() => canonicalJson({ a: () => 1 })).toThrow(TypeError);
});
