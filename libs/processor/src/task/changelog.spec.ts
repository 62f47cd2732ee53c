import { noEffects, type StateMachine } from '@espalier/contracts';
import { encodeEvent } from '@espalier/avro';
import type { OutgoingRecord, RawRecord } from '@espalier/kafka';
import { expect, it } from 'vitest';
import { ProcessorStateError } from '../errors.ts';
import { Changelog, emptyState } from './changelog.ts';

const machine: StateMachine = {
  name: 'test',
  inputs: ['group.commanded'],
  stateTopic: 'state.group',
  journalTopic: 'journal.group',
  stateVersion: 2,
  decide: noEffects,
  fire: noEffects,
  abandon: noEffects,
};
const changelog = new Changelog(machine, { prefix: 'p', partition: 1, producer: 'test/i' });
const stored = (records: readonly OutgoingRecord[]): RawRecord[] =>
  records.map(({ topic, key, value }, offset) => ({
    topic,
    partition: 1,
    offset,
    key: Buffer.from(key ?? ''),
    value,
    headers: {},
    timestamp: 0,
  }));

it('folds back what it wrote: entries, timers, positions, and where it was', () => {
  const state = emptyState();
  const records = [
    changelog.barrier('b', 1),
    ...changelog.delta({
      entries: [
        ['a', { kind: 'k', value: { n: 1 } }],
        ['gone', { kind: 'k', value: { n: 2 } }],
      ],
      timers: [
        ['t', 50],
        ['off', 60],
      ],
      positions: [['group.commanded', 12]],
      transactionNo: 4,
      now: 99,
    }),
    ...changelog.delta({
      entries: [['gone', null]],
      timers: [['off', null]],
      positions: [],
      transactionNo: 5,
      now: 100,
    }),
  ];
  for (const record of stored(records)) changelog.fold(state, record);
  expect([...state.store.scan('')]).toEqual([['a', { kind: 'k', value: { n: 1 } }]]);
  expect([...state.timers.entries()]).toEqual([['t', { at: 50, due: 50 }]]);
  expect(state).toMatchObject({ transactionNo: 5, lastNow: 100, changelogOffset: records.length });
  expect(state.positions.get('group.commanded')).toBe(12);
});

it('refuses a newer format and bytes that are none of its', () => {
  const [barrier] = stored([changelog.barrier('b', 1)]);
  if (barrier === undefined) throw new Error('no barrier');
  const entry = { event_id: 'e', occurred_at: 1, producer: 'p', kind: 'k', state_version: 3, value_json: '{}' };
  const of = (value: Buffer): RawRecord => ({ ...barrier, key: Buffer.from('a'), value });
  expect(() => changelog.fold(emptyState(), of(encodeEvent('state.group', entry)))).toThrow(/state version 3/);
  expect(() => changelog.fold(emptyState(), of(Buffer.from('x')))).toThrow(ProcessorStateError);
  expect(() =>
    changelog.fold(emptyState(), of(encodeEvent('state.group', { ...entry, state_version: 1, value_json: '{' }))),
  ).toThrow(ProcessorStateError);
});
