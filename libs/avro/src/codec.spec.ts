import { topicNames } from '@espalier/contracts';
import { describe, expect, it } from 'vitest';
import avsc from 'avsc';
import { decodeEvent, encodeEvent } from './codec.ts';
import { logicalTypes } from './logical-types.ts';
import { compatibilityProblems } from './compatibility.ts';
import { DecodeError, EncodeError } from './errors.ts';
import { compileGuard } from './guard.ts';

const call = {
  event_id: 'e',
  occurred_at: 1,
  run_id: 'r',
  producer: 'test',
  group_id: 'g',
  attempt_id: 'a',
  epoch: 1,
  kind: 'CALL',
  call_no: 0,
  call_id: 'a/c0',
  prompt_suffix_ids: new Int32Array([1, 2, 3]),
  output_ids: new Int32Array([4]),
  output_logprobs: new Float32Array([-0.5]),
  version_runs: [{ version: 3, length: 1 }],
};

describe('events', () => {
  it('round-trip with packed arrays and defaults', () => {
    const back = decodeEvent('model.called', encodeEvent('model.called', call));
    expect([...back.prompt_suffix_ids]).toEqual([1, 2, 3]);
    expect(back.output_logprobs[0]).toBe(-0.5);
    expect(back.agent_key).toBeNull();
    expect(back.version_runs[0]?.version).toBe(3);
  });

  it('name the field that does not fit', () => {
    expect(() => encodeEvent('model.called', { ...call, epoch: 'x' })).toThrow(/model\.called: epoch/);
    expect(() => encodeEvent('model.called', { ...call, output_logprobs: new Float32Array([NaN]) })).toThrow(
      EncodeError,
    );
  });

  it('are refused when empty, cut, of another schema or followed by bytes, on every topic', () => {
    const good = encodeEvent('model.called', call);
    const code = (bytes: Buffer): string => {
      try {
        decodeEvent('model.called', bytes);
        return 'none';
      } catch (error) {
        return error instanceof DecodeError ? error.code : String(error);
      }
    };
    expect(code(Buffer.alloc(0))).toBe('AVRO_EMPTY');
    expect(code(Buffer.from('{}'))).toBe('AVRO_FRAMING');
    expect(code(good.subarray(0, good.length - 3))).toMatch(/^AVRO_/);
    expect(code(Buffer.concat([good, Buffer.from([1])]))).toBe('AVRO_TRAILING');
    for (const topic of topicNames.filter((name) => name !== 'model.called'))
      expect(() => decodeEvent(topic, good)).toThrow(DecodeError);
  });
});

describe('the decode guard', () => {
  it('refuses the block that would end the process', () => {
    const guard = compileGuard(JSON.stringify({ type: 'array', items: 'int' }));
    expect(() => guard(Buffer.from('feffffff0f', 'hex'))).toThrow(/block of 2147483647 items/);
    const nulls = compileGuard(JSON.stringify({ type: 'array', items: 'null' }));
    expect(() => nulls(Buffer.from('feffffff0f', 'hex'))).toThrow(DecodeError);
    const map = compileGuard(JSON.stringify({ type: 'map', values: 'int' }));
    expect(() => map(Buffer.from('feffffff0f', 'hex'))).toThrow(DecodeError);
  });

  it('accepts what avsc writes, blocks with sizes included', () => {
    const guard = compileGuard(JSON.stringify({ type: 'array', items: 'int' }));
    guard(Buffer.from([4, 2, 4, 0]));
    guard(Buffer.from([3, 4, 2, 4, 0]));
  });
});

it('finds an incompatible change both ways', () => {
  const schema = (fields: unknown[]): string => JSON.stringify({ type: 'record', name: 'E', fields });
  const a = { name: 'a', type: 'string' };
  expect(
    compatibilityProblems('e', schema([a, { name: 'b', type: ['null', 'int'], default: null }]), [schema([a])]),
  ).toEqual([]);
  expect(compatibilityProblems('e', schema([a, { name: 'b', type: 'int' }]), [schema([a])])).toHaveLength(1);
  expect(compatibilityProblems('e', schema([]), [schema([a])])).toHaveLength(1);
  const packed = (name: string) => ({ name, type: { type: 'bytes', logicalType: 'packed-int32' } });
  expect(
    compatibilityProblems('e', schema([packed('a'), { name: 'b', type: 'int', default: 0 }]), [schema([packed('a')])]),
  ).toEqual([]);
  expect(compatibilityProblems('e', schema([packed('a')]), [schema([{ name: 'a', type: 'int' }])])).not.toEqual([]);
});

it('reads packed arrays that an older schema wrote', () => {
  const record = (fields: unknown[]) =>
    avsc.Type.forSchema({ type: 'record', name: 'E', fields } as avsc.Schema, { logicalTypes });
  const ids = { name: 'ids', type: { type: 'bytes', logicalType: 'packed-int32' } };
  const older = record([ids]);
  const newer = record([ids, { name: 'more', type: 'int', default: 7 }]);
  const bytes = older.toBuffer({ ids: new Int32Array([1, 2]) });
  const value = newer.fromBuffer(bytes, newer.createResolver(older)) as { ids: Int32Array; more: number };
  expect([[...value.ids], value.more]).toEqual([[1, 2], 7]);
});
