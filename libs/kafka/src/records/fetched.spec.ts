import { describe, expect, it } from 'vitest';
import { dataRecords, type WirePartition, type WireRecord } from './fetched.ts';

const record = (offset: number, more: Partial<WireRecord> = {}): WireRecord => ({
  offset: String(offset),
  key: Buffer.from('k'),
  value: Buffer.from(`v${offset}`),
  timestamp: '1',
  headers: {},
  ...more,
});
const of = (producerId: string): Partial<WireRecord> => ({ batchContext: { producerId, inTransaction: true } });
const marker = (offset: number, producerId: string, commit: boolean): WireRecord =>
  record(offset, { ...of(producerId), isControlRecord: true, key: Buffer.from([0, 0, 0, commit ? 1 : 0]) });
const answer = (messages: WireRecord[], more: Partial<WirePartition> = {}): WirePartition => ({
  partition: 3,
  highWatermark: '100',
  lastStableOffset: '90',
  abortedTransactions: [],
  messages,
  ...more,
});
const offsets = (response: WirePartition, from = 0): number[] =>
  dataRecords('t', from, response).records.map(({ offset }) => offset);

describe('data records', () => {
  it('are what lies at or above the wanted offset', () => {
    const fetched = dataRecords('t', 2, answer([record(0), record(1), record(2), record(3)]));
    expect(fetched.records.map(({ offset }) => offset)).toEqual([2, 3]);
    expect(fetched).toMatchObject({ nextOffset: 4, endOffset: 90 });
  });

  it('are no markers, but markers move the position', () => {
    const fetched = dataRecords('t', 0, answer([record(0, of('7')), marker(1, '7', true)]));
    expect(fetched.records).toHaveLength(1);
    expect(fetched.nextOffset).toBe(2);
    expect(dataRecords('t', 1, answer([marker(1, '7', true)]))).toMatchObject({ records: [], nextOffset: 2 });
  });

  it('leave out aborted transactions of one producer, and nothing of another or of a later one', () => {
    const messages = [
      record(0, of('1')),
      record(1, of('2')),
      record(2, of('1')),
      marker(3, '1', false),
      record(4, of('1')),
      marker(5, '1', true),
      marker(6, '2', true),
    ];
    expect(offsets(answer(messages, { abortedTransactions: [{ producerId: '1', firstOffset: '0' }] }))).toEqual([1, 4]);
  });

  it('leave out an aborted transaction that began before the wanted offset', () => {
    const messages = [record(5, of('1')), marker(6, '1', false), record(7)];
    expect(offsets(answer(messages, { abortedTransactions: [{ producerId: '1', firstOffset: '2' }] }), 5)).toEqual([7]);
  });

  it('step over an offset that compaction removed', () => {
    expect(dataRecords('t', 9, answer([record(7), record(8)]))).toMatchObject({ records: [], nextOffset: 10 });
    expect(dataRecords('t', 9, answer([]))).toMatchObject({ records: [], nextOffset: 9 });
  });

  it('carry headers as strings', () => {
    const headers = { a: Buffer.from('x'), b: [Buffer.from('y'), Buffer.from('z')], c: undefined };
    expect(dataRecords('t', 0, answer([record(0, { headers })])).records[0]?.headers).toEqual({ a: 'x', b: 'y' });
  });
});
