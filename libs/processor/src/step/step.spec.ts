import {
  canonicalJson,
  noEffects,
  type Effects,
  type MachineInput,
  type StateMachine,
  type StateView,
} from '@espalier/contracts';
import { decodeEvent } from '@espalier/avro';
import { expect, it } from 'vitest';
import { KeyedStore } from '../state/keyed-store.ts';
import { Timers } from '../state/timers.ts';
import { Step } from './step.ts';

type Rule = (state: StateView, groupId: string) => Effects;

const machineOf = (decide: Rule, abandon: Rule = noEffects, fire: Rule = noEffects): StateMachine => ({
  name: 'test',
  inputs: ['group.commanded'],
  stateTopic: 'state.group',
  journalTopic: 'journal.group',
  stateVersion: 1,
  decide: (state, input) => decide(state, groupOf(input)),
  abandon: (state, input) => abandon(state, groupOf(input)),
  fire: (state, timer) => fire(state, timer),
});
const groupOf = (input: MachineInput): string => (input.topic === 'group.commanded' ? input.value.group_id : '');
const input = (groupId: string): MachineInput => ({
  topic: 'group.commanded',
  partition: 0,
  offset: 1,
  value: {
    event_id: 'e',
    occurred_at: 1,
    run_id: null,
    producer: 'p',
    idempotency_key: null,
    group_id: groupId,
    command: 'CANCEL',
    reason: 'x',
  },
});
const said = (groupId: string, reason: string): Effects => {
  const effects = noEffects();
  effects.outputs.push({ topic: 'group.commanded', value: { group_id: groupId, command: 'CANCEL', reason } });
  return effects;
};
const stepOf = (machine: StateMachine, store = new KeyedStore()): Step =>
  new Step(machine, store, { prefix: 'p', partition: 2, transactionNo: 7, producer: 'test/i' }, 1000);

it('lets each decision see those before it, and takes all over at once', () => {
  const store = new KeyedStore();
  const timers = new Timers();
  const step = stepOf(
    machineOf((state, groupId) => {
      const effects = said(groupId, 'ok');
      const n = (state.get<{ n: number }>(groupId)?.n ?? 0) + 1;
      effects.entries.set(groupId, { kind: 'count', value: { n } });
      effects.timers.set(`t/${groupId}`, 50 * n);
      return effects;
    }),
    store,
  );
  step.decide(input('a'));
  step.decide(input('a'));
  expect(store.size).toBe(0);
  step.applyTo(store, timers);
  expect(store.get('a')).toEqual({ kind: 'count', value: { n: 2 } });
  expect(timers.nextDue()).toBe(100);
  const events = step.outputs.map(({ value }) => decodeEvent('group.commanded', value ?? Buffer.alloc(0)));
  expect(events.map(({ occurred_at: at, producer }) => [at, producer])).toEqual([
    [1000, 'test/i'],
    [1000, 'test/i'],
  ]);
  expect(new Set(events.map(({ event_id: id }) => id)).size).toBe(2);
});

it('gives the same ids and the same digest when it is done again', () => {
  const once = (): Step => {
    const step = stepOf(machineOf((_state, groupId) => said(groupId, 'ok')));
    step.decide(input('a'));
    return step;
  };
  expect(once().outputs).toEqual(once().outputs);
  expect(once().digest()).toBe(once().digest());
  const other = stepOf(machineOf((_state, groupId) => said(groupId, 'other')));
  other.decide(input('a'));
  expect(other.digest()).not.toBe(once().digest());
});

it.each([
  [
    'throws',
    (): Effects => {
      throw new Error('broken');
    },
    /broken/,
  ],
  [
    'writes an entry that is too large',
    (): Effects => ({
      ...said('a', 'x'),
      entries: new Map([['big', { kind: 'k', value: { t: 'x'.repeat(66_000) } }]]),
    }),
    /big.*65536 allowed/,
  ],
  [
    'writes under a key of the host',
    (): Effects => ({ ...said('a', 'x'), entries: new Map([['position/x', { kind: 'k', value: {} }]]) }),
    /belongs to the host/,
  ],
  ['says what does not encode', (): Effects => said('a', 5 as unknown as string), /reason/],
  ['says what has no key', (): Effects => said('', 'x'), /key field/],
  [
    'writes what JSON cannot hold',
    (): Effects => ({ ...said('a', 'x'), entries: new Map([['e', { kind: 'k', value: { n: Number.NaN } }]]) }),
    /NaN/,
  ],
  ['sets a timer to no time', (): Effects => ({ ...said('a', 'x'), timers: new Map([['t', Number.NaN]]) }), /timer t/],
])('abandons the subject when the machine %s, and keeps nothing of the failed decision', (_what, decide, message) => {
  const step = stepOf(machineOf(decide, () => said('a', 'abandoned')));
  const { bug } = step.decide(input('a'));
  expect(bug?.code).toBe('PROCESSOR_BUG');
  expect(bug?.message).toMatch(message);
  expect(step.outputs).toHaveLength(1);
  expect(decodeEvent('group.commanded', step.outputs[0]?.value ?? Buffer.alloc(0)).reason).toBe('abandoned');
  expect(step.entries()).toEqual([]);
  expect(step.timers()).toEqual([]);
});

it('survives a machine that throws even when it abandons, and one that throws on a timer', () => {
  const broken = (): Effects => {
    throw new Error('broken');
  };
  const step = stepOf(machineOf(broken, broken, broken));
  expect(step.decide(input('a')).bug).toBeDefined();
  expect(step.fire('t').bug).toBeDefined();
  // The timer is gone all the same: it would throw for ever.
  expect(step.timers()).toEqual([['t', null]]);
  expect(step.fired).toEqual(['t']);
});

it('writes JSON with keys in order, and refuses what has no place in it', () => {
  expect(canonicalJson({ b: [1, undefined, { d: null, c: true }], a: 'x', u: undefined })).toBe(
    '{"a":"x","b":[1,null,{"c":true,"d":null}]}',
  );
  expect(canonicalJson(new Int32Array([1, 2]))).toBe('[1,2]');
  expect(() => canonicalJson({ a: Infinity })).toThrow(TypeError);
  expect(() => canonicalJson({ a: () => 1 })).toThrow(TypeError);
});
