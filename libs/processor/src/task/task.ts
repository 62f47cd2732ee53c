import { randomUUID } from 'node:crypto';
import {
  EventKeyError,
  groupIdOf,
  keyOf,
  topicOf,
  type MachineInput,
  type Rejection,
  type StateMachine,
  type TopicName,
} from '@espalier/contracts';
import { DecodeError, encodeEvent } from '@espalier/avro';
import {
  consumedEvent,
  deadLetter,
  partitionFor,
  type CommitOffset,
  type KafkaLogger,
  type KafkaPort,
  type OutgoingRecord,
  type PartitionFollower,
  type RangeReader,
  type RawRecord,
  type TransactionalProducer,
} from '@espalier/kafka';
import { ProcessorError, ProcessorStateError } from '../errors.ts';
import { addApplied, journalRecord, type AppliedRange } from '../step/journal.ts';
import { Step } from '../step/step.ts';
import { Changelog, emptyState, type PartitionState } from './changelog.ts';
import { decidedTopics, Inputs } from './inputs.ts';

/** Bounds of one transaction. */
export interface BatchLimits {
  readonly records: number;
  readonly outputs: number;
  readonly bytes: number;
  readonly timers: number;
}

/** What a task is built from. */
export interface TaskParts {
  readonly kafka: KafkaPort;
  readonly machine: StateMachine;
  readonly group: string;
  readonly partition: number;
  readonly partitions: number;
  readonly producerName: string;
  readonly follower: PartitionFollower;
  readonly reader: RangeReader;
  readonly limits: BatchLimits;
  /** How long after catching up no timer is judged, milliseconds. */
  readonly graceMs: number;
  readonly clock: () => number;
  readonly logger: KafkaLogger;
  /** State this process kept of the partition, folded up to some changelog offset. */
  readonly kept: PartitionState | undefined;
  /** False when the group has not been heard from for a session: others may own the partition. */
  readonly mayTransact: () => boolean;
  readonly onApplied: (records: number) => void;
}

/** How far a task is. */
export type TaskPhase = 'restoring' | 'running' | 'dropped';

/**
 * One partition for one generation: fences earlier owners, restores, then applies batches in one serial loop, each in one
 * transaction with its outputs, changelog, journal and offsets. It ends when dropped, or at the first failed transaction, and is
 * never begun again: the next generation makes a new one.
 */
export class Task {
  readonly partition: number;
  readonly #parts: TaskParts;
  readonly #changelog: Changelog;
  readonly #producer: TransactionalProducer;
  readonly #inputs: Inputs;
  readonly #decided: readonly TopicName[];
  #state: PartitionState = emptyState();
  #phase: TaskPhase = 'restoring';
  /** End offsets read after the restore; what was stored before the outage lies below. Emptied as it is consumed. */
  readonly #backlog = new Map<TopicName, number>();
  #judgeFrom: number | undefined;
  #movedAt = Date.now();
  #wake: (() => void) | undefined;
  #wakeTimer: NodeJS.Timeout | undefined;
  #woken = false;

  constructor(parts: TaskParts) {
    this.#parts = parts;
    this.partition = parts.partition;
    const { kafka, machine, group, partition, producerName } = parts;
    this.#changelog = new Changelog(machine, { prefix: kafka.connection.prefix, partition, producer: producerName });
    this.#producer = kafka.transactional(`${group}.${partition}`);
    this.#inputs = new Inputs(() => this.#ring());
    this.#decided = decidedTopics(machine);
  }

  get phase(): TaskPhase {
    return this.#phase;
  }

  /** What is known of the partition; valid between transactions. */
  get state(): PartitionState {
    return this.#state;
  }

  /** Whether timers are judged already. */
  get judging(): boolean {
    return this.#judgeFrom !== undefined && this.#parts.clock() >= this.#judgeFrom;
  }

  /** Milliseconds this task has had something to do without getting on; 0 when it has nothing to do, or the broker is silent. */
  stalledMs(brokerSilentMs: number): number {
    const now = Date.now();
    if (this.#phase === 'dropped') return 0;
    const behind = [...this.#inputs.progress()].some((feed) => feed.behind && now - feed.answeredAt < brokerSilentMs);
    return behind ? now - this.#movedAt : 0;
  }

  /** Ends the task; the transaction in hand, if any, is the last one. */
  drop(): void {
    if (this.#phase === 'dropped') return;
    this.#phase = 'dropped';
    this.#inputs.close();
    this.#ring();
  }

  /** Runs until dropped. Throws what ended it otherwise: a fence, a lost broker, a state that cannot be read. */
  async run(): Promise<void> {
    try {
      await this.#restore();
      while (!this.#isDropped()) await this.#turn();
    } finally {
      this.drop();
      clearTimeout(this.#wakeTimer);
      await this.#producer.close();
    }
  }

  #isDropped(): boolean {
    return this.#phase === 'dropped';
  }

  async #restore(): Promise<void> {
    const { kafka, machine, partition, reader, kept, logger, clock } = this.#parts;
    const begun = Date.now();
    await this.#producer.open();
    if (this.#isDropped()) return;
    const [barrier] = await this.#producer.transact({ records: [this.#changelog.barrier(randomUUID(), clock())] });
    if (barrier === undefined) throw new ProcessorStateError('the barrier was stored nowhere');
    // From here on no earlier owner can add to the changelog.
    const state = kept ?? emptyState();
    const from = state.changelogOffset;
    let records = 0;
    for await (const record of reader.readRange(this.#changelog.topic, partition, from, barrier + 1)) {
      if (this.#isDropped()) return;
      this.#changelog.fold(state, record);
      records += 1;
    }
    state.changelogOffset = barrier + 1;
    this.#state = state;
    const ends = await Promise.all(
      machine.inputs.map(async (topic) => [topic, endOf(await kafka.admin.endOffsets(topic), partition)] as const),
    );
    if (this.#isDropped()) return;
    const { prefix } = kafka.connection;
    for (const [topic, end] of ends) {
      const heartbeat = !this.#decided.includes(topic);
      // A heartbeat says who is alive now; old ones say nothing.
      const position = heartbeat ? end : (state.positions.get(topic) ?? 0);
      if (!heartbeat && end > position) this.#backlog.set(topic, end);
      this.#inputs.open(this.#parts.follower, prefix, topic, partition, position);
    }
    this.#phase = 'running';
    this.#noteCaughtUp();
    logger.info(
      {
        machine: machine.name,
        partition,
        records,
        from,
        entries: state.store.size,
        timers: state.timers.size,
        transactionNo: state.transactionNo,
        ms: Date.now() - begun,
      },
      'partition restored',
    );
  }

  /** Applies what waits and fires what is due, or waits for either. */
  async #turn(): Promise<void> {
    const { limits, clock, machine } = this.#parts;
    const now = Math.max(this.#state.lastNow, clock());
    const identity = {
      prefix: this.#parts.kafka.connection.prefix,
      partition: this.partition,
      transactionNo: this.#state.transactionNo + 1,
      producer: this.#parts.producerName,
    };
    const step = new Step(machine, this.#state.store, identity, now);
    const applied: AppliedRange[] = [];
    const extra: OutgoingRecord[] = [];
    const positions = new Map<TopicName, number>();
    let records = 0;
    while (
      records < limits.records &&
      step.outputs.length + extra.length < limits.outputs &&
      step.bytes < limits.bytes
    ) {
      const next = this.#inputs.next();
      if (next === undefined) break;
      const { topic, record, nextPosition } = next;
      if (!this.#decided.includes(topic)) {
        this.#renew(topic, record, now);
        continue;
      }
      positions.set(topic, nextPosition);
      records += 1;
      // Below the position of the changelog: applied by an earlier owner.
      if (record.offset < (this.#state.positions.get(topic) ?? 0)) continue;
      addApplied(applied, topic, record.offset);
      this.#apply(step, topic, record, extra);
    }
    const ticked = this.#fireDue(step, now, extra);
    if (applied.length > 0 || step.fired.length > 0) {
      await this.#commit(step, identity, now, applied, extra, positions, ticked);
      this.#parts.onApplied(records);
    }
    for (const [topic, next] of positions)
      this.#state.positions.set(topic, Math.max(next, this.#state.positions.get(topic) ?? 0));
    this.#noteCaughtUp();
    if (records > 0 || step.fired.length > 0) {
      this.#movedAt = Date.now();
      // Lets probes and heartbeats have their turn between full batches.
      await new Promise((resolve) => setImmediate(resolve));
      return;
    }
    await this.#rest();
  }

  async #commit(
    step: Step,
    identity: {
      readonly prefix: string;
      readonly partition: number;
      readonly transactionNo: number;
      readonly producer: string;
    },
    now: number,
    applied: readonly AppliedRange[],
    extra: readonly OutgoingRecord[],
    positions: ReadonlyMap<TopicName, number>,
    ticked: boolean,
  ): Promise<void> {
    const { machine, group, mayTransact } = this.#parts;
    if (this.#isDropped()) return;
    if (!mayTransact())
      throw new ProcessorError(
        'PROCESSOR_SESSION_LOST',
        `partition ${this.partition}: the group was not heard from for a session`,
        true,
      );
    const delta = this.#changelog.delta({
      entries: step.entries(),
      timers: step.timers(),
      positions: [...positions],
      transactionNo: identity.transactionNo,
      now,
    });
    const journal = journalRecord(machine, identity, now, applied, step, ticked);
    const offsets: CommitOffset[] = [...positions].map(([topic, offset]) => ({
      topic: topicOf(identity.prefix, topic),
      partition: this.partition,
      offset,
    }));
    // The changelog goes last: its offsets are the last ones returned.
    const stored = await this.#producer.transact({
      records: [...step.outputs, ...extra, journal, ...delta],
      offsets: { group, offsets },
    });
    step.applyTo(this.#state.store, this.#state.timers);
    this.#state.transactionNo = identity.transactionNo;
    this.#state.lastNow = now;
    this.#state.changelogOffset = (stored.at(-1) ?? this.#state.changelogOffset - 1) + 1;
    this.#parts.logger.debug(
      { group: groupIdOf(identity.prefix, group), partition: this.partition, transactionNo: identity.transactionNo },
      'applied',
    );
  }

  #apply(step: Step, topic: TopicName, record: RawRecord, extra: OutgoingRecord[]): void {
    const { kafka, partitions } = this.#parts;
    let input: MachineInput;
    let key: string | null;
    try {
      const { value } = consumedEvent(topic, record);
      key = keyOf(topic, value);
      input = { topic, value, partition: record.partition, offset: record.offset } as MachineInput;
    } catch (error) {
      if (!(error instanceof DecodeError) && !(error instanceof EventKeyError)) throw error;
      extra.push(this.#dead(topic, record, error));
      return;
    }
    // A producer with another partitioner, or another key: to where its group or run is kept, and not applied here.
    const home = key === null ? this.partition : partitionFor(key, partitions);
    if (home !== this.partition && key !== null) {
      extra.push({
        topic: topicOf(kafka.connection.prefix, topic),
        key,
        value: record.value,
        headers: { ...record.headers, 'x-rerouted-from': `${record.partition}/${record.offset}` },
        partition: home,
      });
      return;
    }
    const { bug, rejections } = step.decide(input);
    if (bug !== undefined) {
      this.#parts.logger.error(
        { machine: this.#parts.machine.name, topic, partition: record.partition, offset: record.offset, err: bug },
        'the machine threw; its subject is closed and the record dead-lettered',
      );
      extra.push(this.#dead(topic, record, bug));
    }
    for (const rejection of rejections) {
      const error = new ProcessorError(rejection.code, rejection.message, false);
      extra.push(
        rejection.event === undefined ? this.#dead(topic, record, error) : this.#deadEvent(rejection.event, error),
      );
    }
  }

  /** An event that was kept since it came, as a dead letter: encoded anew, its record is long behind. */
  #deadEvent(event: NonNullable<Rejection['event']>, error: unknown): OutgoingRecord {
    const { prefix } = this.#parts.kafka.connection;
    return this.#dead(
      event.topic,
      {
        topic: topicOf(prefix, event.topic),
        partition: this.partition,
        offset: -1,
        key: Buffer.from(keyOf(event.topic, event.value) ?? ''),
        value: encodeEvent(event.topic, event.value),
        headers: {},
        timestamp: event.value.occurred_at,
      },
      error,
    );
  }

  #dead(topic: TopicName, record: RawRecord, error: unknown): OutgoingRecord {
    const { kafka, group } = this.#parts;
    const { prefix, observer } = kafka.connection;
    const letter = deadLetter(prefix, topic, group, record, error);
    observer?.deadLettered?.(topic, group, letter.headers?.['x-error-code'] ?? '');
    return letter;
  }

  #renew(topic: TopicName, record: RawRecord, now: number): void {
    const { machine, logger } = this.#parts;
    try {
      const { value } = consumedEvent(topic, record);
      const input = { topic, value, partition: record.partition, offset: record.offset } as MachineInput;
      for (const { timer, until } of machine.renewals?.(input, now) ?? []) this.#state.timers.renew(timer, until);
    } catch (error) {
      // Heartbeats are not kept: one that says nothing is as good as none.
      logger.warn({ topic, partition: record.partition, offset: record.offset, err: error }, 'heartbeat ignored');
    }
  }

  /** Fires what is due, unless time may not be judged yet; true when timers were looked at. */
  #fireDue(step: Step, now: number, extra: OutgoingRecord[]): boolean {
    if (!this.judging) return false;
    const { machine, logger } = this.#parts;
    for (const timer of this.#state.timers.due(now, this.#parts.limits.timers)) {
      if (!step.stillSet(timer)) continue;
      const { bug, rejections } = step.fire(timer);
      if (bug !== undefined)
        logger.error({ machine: machine.name, timer, err: bug }, 'the machine threw on a timer, which is dropped');
      for (const { code, message, event } of rejections)
        if (event === undefined) logger.error({ machine: machine.name, timer, code }, 'a timer rejected no event');
        else extra.push(this.#deadEvent(event, new ProcessorError(code, message, false)));
    }
    return true;
  }

  /** Time is judged one grace after everything that was stored before the restore has been consumed. */
  #noteCaughtUp(): void {
    for (const [topic, next] of this.#inputs.idlePositions())
      if (next > (this.#state.positions.get(topic) ?? -1) && this.#decided.includes(topic))
        this.#state.positions.set(topic, next);
    for (const [topic, end] of this.#backlog)
      if ((this.#state.positions.get(topic) ?? 0) >= end) this.#backlog.delete(topic);
    if (this.#backlog.size === 0) this.#judgeFrom ??= this.#parts.clock() + this.#parts.graceMs;
  }

  #ring(): void {
    this.#woken = true;
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  /** Waits for records or the next timer. */
  async #rest(): Promise<void> {
    if (this.#woken || this.#isDropped()) {
      this.#woken = false;
      if (this.#isDropped()) return;
      // Rung while the last turn ran: look once more.
      await new Promise((resolve) => setImmediate(resolve));
      return;
    }
    const due = this.#state.timers.nextDue();
    const now = this.#parts.clock();
    const at = due === undefined ? undefined : Math.max(due, this.#judgeFrom ?? now + 1000);
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      clearTimeout(this.#wakeTimer);
      if (at !== undefined) this.#wakeTimer = setTimeout(resolve, Math.min(Math.max(1, at - now), 60_000));
    });
    this.#woken = false;
  }
}

const endOf = (ends: readonly { readonly partition: number; readonly offset: number }[], partition: number): number =>
  ends.find((end) => end.partition === partition)?.offset ?? 0;
