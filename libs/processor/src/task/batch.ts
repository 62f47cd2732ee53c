import { topicOf, type MachineInput, type Rejection, type TopicName } from '@espalier/contracts';
import { consumedEvent, type OutgoingRecord, type RawRecord } from '@espalier/kafka';
import { ProcessorError } from '../errors.ts';
import { admit } from '../step/admission.ts';
import { addApplied, journalRecord, type AppliedRange } from '../step/journal.ts';
import { Step, type StepIdentity } from '../step/step.ts';
import type { Changelog, PartitionState } from './changelog.ts';
import { deadEvent, deadRecord } from './dead-letters.ts';
import type { NextRecord } from './inputs.ts';
import type { TaskParts } from './parts.ts';

/** Everything that one transaction of a task does. */
export class Batch {
  /** The time that every decision of this batch uses, milliseconds UTC. */
  readonly now: number;
  /** Where the positions are once this is committed. */
  readonly positions = new Map<TopicName, number>();
  /** Records taken, those below the position included. */
  records = 0;
  readonly #parts: TaskParts;
  readonly #state: PartitionState;
  readonly #identity: StepIdentity;
  readonly #step: Step;
  readonly #applied: AppliedRange[] = [];
  /** Dead letters and records sent home. */
  readonly #extra: OutgoingRecord[] = [];
  #ticked = false;

  constructor(parts: TaskParts, state: PartitionState, now: number) {
    this.now = now;
    this.#parts = parts;
    this.#state = state;
    this.#identity = {
      prefix: parts.kafka.connection.prefix,
      partition: parts.partition,
      transactionNo: state.transactionNo + 1,
      producer: parts.producerName,
    };
    this.#step = new Step(parts.machine, state.store, this.#identity, now);
  }

  get hasRoom(): boolean {
    const { records, outputs, bytes } = this.#parts.limits;
    return (
      this.records < records && this.#step.outputs.length + this.#extra.length < outputs && this.#step.bytes < bytes
    );
  }

  /** Whether there is anything to commit. */
  get hasEffects(): boolean {
    return this.#applied.length > 0 || this.#step.fired.length > 0;
  }

  /** Applies one record; what was applied by an earlier owner is passed by. */
  apply({ topic, record, nextPosition }: NextRecord): void {
    this.positions.set(topic, nextPosition);
    this.records += 1;
    if (record.offset < (this.#state.positions.get(topic) ?? 0)) return;
    addApplied(this.#applied, topic, record.offset);
    const admitted = admit(topic, record, this.#parts.partitions);
    switch (admitted.kind) {
      case 'input':
        this.#decide(topic, record, admitted.input);
        return;
      case 'undecodable':
        this.#extra.push(deadRecord(this.#parts, topic, record, admitted.error));
        return;
      case 'foreign':
        // A producer with another partitioner, or another key: to where its group or run is kept, and not applied here.
        this.#extra.push({
          topic: topicOf(this.#identity.prefix, topic),
          key: admitted.key,
          value: record.value,
          headers: { ...record.headers, 'x-rerouted-from': `${record.partition}/${record.offset}` },
          partition: admitted.home,
        });
    }
  }

  #decide(topic: TopicName, record: RawRecord, input: MachineInput): void {
    const { bug, rejections } = this.#step.decide(input);
    if (bug !== undefined) {
      this.#parts.logger.error(
        { machine: this.#parts.machine.name, topic, partition: record.partition, offset: record.offset, err: bug },
        'the machine threw; its subject is closed and the record dead-lettered',
      );
      this.#extra.push(deadRecord(this.#parts, topic, record, bug));
    }
    for (const rejection of rejections)
      this.#extra.push(
        rejection.event === undefined
          ? deadRecord(this.#parts, topic, record, errorOf(rejection))
          : deadEvent(this.#parts, rejection.event, errorOf(rejection)),
      );
  }

  /** A heartbeat: extends timers in memory, at once and without a transaction. */
  renew({ topic, record }: NextRecord): void {
    const { machine, logger } = this.#parts;
    try {
      const { value } = consumedEvent(topic, record);
      const input = { topic, value, partition: record.partition, offset: record.offset } as MachineInput;
      for (const { timer, until } of machine.renewals?.(input, this.now) ?? []) this.#state.timers.renew(timer, until);
    } catch (error) {
      // Heartbeats are not kept: one that says nothing is as good as none.
      logger.warn({ topic, partition: record.partition, offset: record.offset, err: error }, 'heartbeat ignored');
    }
  }

  /** Fires timers that are due, but those that this batch has set anew or cleared. */
  fire(due: readonly string[]): void {
    const { machine, logger } = this.#parts;
    this.#ticked = true;
    for (const timer of due) {
      if (!this.#step.stillSet(timer)) continue;
      const { bug, rejections } = this.#step.fire(timer);
      if (bug !== undefined)
        logger.error({ machine: machine.name, timer, err: bug }, 'the machine threw on a timer, which is dropped');
      for (const rejection of rejections)
        if (rejection.event === undefined)
          logger.error({ machine: machine.name, timer, code: rejection.code }, 'a timer rejected no event');
        else this.#extra.push(deadEvent(this.#parts, rejection.event, errorOf(rejection)));
    }
  }

  /** Outputs, dead letters, records sent home, and the journal. */
  outgoing(): OutgoingRecord[] {
    const journal = journalRecord(
      this.#parts.machine,
      this.#identity,
      this.now,
      this.#applied,
      this.#step,
      this.#ticked,
    );
    return [...this.#step.outputs, ...this.#extra, journal];
  }

  /** The changelog's records. */
  changes(changelog: Changelog): OutgoingRecord[] {
    return changelog.delta({
      entries: this.#step.entries(),
      timers: this.#step.timers(),
      positions: [...this.positions],
      transactionNo: this.#identity.transactionNo,
      now: this.now,
      jsonOf: (entry) => this.#step.jsonOf(entry),
    });
  }

  /** Makes the batch true in memory, once it is true in the log. */
  applyTo(state: PartitionState): void {
    this.#step.applyTo(state.store, state.timers);
    state.transactionNo = this.#identity.transactionNo;
    state.lastNow = this.now;
  }
}

const errorOf = ({ code, message }: Rejection): ProcessorError => new ProcessorError(code, message, false);
