import {
  noEffects,
  type Effects,
  type MachineInput,
  type StateMachine,
  type StateView,
  type TopicName,
} from '@espalier/contracts';

interface Count {
  readonly [field: string]: unknown;
  readonly n: number;
}

/**
 * Counts the records of each group and says every count once, in `rollout.ruled` (reason = the record's id, epoch = the count).
 * Commands with the reason `throw` make it throw, `timer <ms>` sets a lease, `reject` rejects, `large` writes too much.
 */
export const countingMachine: StateMachine = {
  name: 'counting',
  inputs: ['rollout.reported', 'group.commanded', 'rollout.alive'],
  heartbeatInputs: ['rollout.alive'],
  stateTopic: 'state.group',
  journalTopic: 'journal.group',
  stateVersion: 1,
  decide: (state, input, now) => {
    if (input.topic === 'group.commanded') {
      const { reason } = input.value;
      if (reason === 'throw') throw new Error('as told');
      if (reason.startsWith('timer ')) {
        const effects = count(state, input.value.group_id, reason);
        effects.timers.set(`lease/${input.value.group_id}`, now + Number(reason.slice(6)));
        return effects;
      }
      if (reason === 'reject') return { ...noEffects(), rejections: [{ code: 'TEST_REJECTED', message: 'as told' }] };
      if (reason === 'large') {
        const effects = count(state, input.value.group_id, reason);
        effects.entries.set(`group/${input.value.group_id}/large`, {
          kind: 'large',
          value: { text: 'x'.repeat(70_000) },
        });
        return effects;
      }
      return count(state, input.value.group_id, reason);
    }
    if (input.topic === 'rollout.reported') return count(state, input.value.group_id, input.value.work_id);
    throw new TypeError(`unexpected ${input.topic}`);
  },
  fire: (state, timer) => count(state, timer.slice('lease/'.length), 'fired'),
  abandon: (state, input) => count(state, groupOf(input), 'abandoned'),
  renewals: (input, now) =>
    input.topic === 'rollout.alive'
      ? input.value.work.map(({ group_id: groupId }) => ({ timer: `lease/${groupId}`, until: now + 3_000 }))
      : [],
};

/** Topics the machine reads and writes. */
export const countingTopics: TopicName[] = [
  ...countingMachine.inputs,
  countingMachine.stateTopic,
  countingMachine.journalTopic,
  'rollout.ruled',
];

function count(state: StateView, groupId: string, id: string): Effects {
  const effects = noEffects();
  const n = (state.get<Count>(`group/${groupId}`)?.n ?? 0) + 1;
  effects.entries.set(`group/${groupId}`, { kind: 'count', value: { n } });
  effects.outputs.push({
    topic: 'rollout.ruled',
    value: {
      group_id: groupId,
      attempt_id: groupId,
      work: 'ROLLOUT',
      work_id: groupId,
      verdict: 'GRANTED',
      epoch: n,
      reason: id,
    },
  });
  return effects;
}

const groupOf = (input: MachineInput): string =>
  'group_id' in input.value && typeof input.value.group_id === 'string' ? input.value.group_id : '';
