import { expect, it } from 'vitest';
import { canonicalForm, fingerprintOf } from './fingerprint.ts';

it('gives the fingerprints of the Avro specification', () => {
  expect(fingerprintOf('"null"').toString(16)).toBe('63dd24e7cc258f8a');
  expect(fingerprintOf('"int"').toString(16)).toBe('7275d51a3f395c8f');
});

it('drops docs, defaults and logical types, and qualifies names', () => {
  const schema = {
    type: 'record',
    namespace: 'a.b',
    name: 'R',
    doc: 'x',
    fields: [{ name: 'f', doc: 'y', default: 0, type: { type: 'long', logicalType: 'timestamp-millis' } }],
  };
  expect(canonicalForm(schema)).toBe('{"name":"a.b.R","type":"record","fields":[{"name":"f","type":"long"}]}');
});
