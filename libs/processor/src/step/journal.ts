import { topicOf, type StateMachine, type TopicName } from '@espalier/contracts';
import { encodeEvent } from '@espalier/avro';
import { derivedId, type OutgoingRecord } from '@espalier/kafka';
import type { Step, StepIdentity } from './step.ts';

/** Consecutive records applied from one topic. */
export interface AppliedRange {
  readonly topic: TopicName;
  readonly first_offset: number;
  last_offset: number;
}

/** Adds a record to the ranges applied, in the order of application. */
export function addApplied(ranges: AppliedRange[], topic: TopicName, offset: number): void {
  const last = ranges.at(-1);
  // Offsets in between are transaction markers: nobody applies those.
  if (last !== undefined && last.topic === topic && offset > last.last_offset) last.last_offset = offset;
  else ranges.push({ topic, first_offset: offset, last_offset: offset });
}

/** The journal record of one transaction. */
export function journalRecord(
  machine: StateMachine,
  identity: StepIdentity,
  now: number,
  applied: readonly AppliedRange[],
  step: Step,
  ticked: boolean,
): OutgoingRecord {
  const { prefix, partition, transactionNo, producer } = identity;
  return {
    topic: topicOf(prefix, machine.journalTopic),
    partition,
    key: `${machine.name}/${partition}`,
    value: encodeEvent(machine.journalTopic, {
      event_id: derivedId(machine.name, partition, transactionNo, 'journal'),
      occurred_at: now,
      producer,
      processor: machine.name,
      partition,
      transaction_no: transactionNo,
      now,
      applied,
      ticked,
      timers_json: JSON.stringify(step.fired),
      effects_digest: step.digest(),
    }),
  };
}
