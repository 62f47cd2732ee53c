import { topicOf, type TopicName } from '@espalier/contracts';
import type { CommitOffset, TransactionalProducer } from '@espalier/kafka';
import { ProcessorError } from '../errors.ts';
import { Batch } from './batch.ts';
import { Changelog, emptyState, type PartitionState } from './changelog.ts';
import { decidedTopics, Inputs } from './inputs.ts';
import type { TaskParts, TaskPhase } from './parts.ts';
import { restorePartition } from './restore.ts';

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
    const { kafka } = this.#parts;
    const restored = await restorePartition(this.#parts, this.#changelog, this.#producer, () => this.#isDropped());
    if (restored === undefined) return;
    this.#state = restored.state;
    for (const [topic, end] of restored.ends) {
      const heartbeat = !this.#decided.includes(topic);
      // A heartbeat says who is alive now; old ones say nothing.
      const position = heartbeat ? end : (restored.state.positions.get(topic) ?? 0);
      if (!heartbeat && end > position) this.#backlog.set(topic, end);
      this.#inputs.open(this.#parts.follower, kafka.connection.prefix, topic, this.partition, position);
    }
    this.#phase = 'running';
    this.#noteCaughtUp();
  }

  /** Applies what waits and fires what is due, or waits for either. */
  async #turn(): Promise<void> {
    const { clock, limits } = this.#parts;
    const batch = new Batch(this.#parts, this.#state, Math.max(this.#state.lastNow, clock()));
    while (batch.hasRoom) {
      const next = this.#inputs.next();
      if (next === undefined) break;
      if (this.#decided.includes(next.topic)) batch.apply(next);
      else batch.renew(next);
    }
    if (this.judging) batch.fire(this.#state.timers.due(batch.now, limits.timers));
    if (batch.hasEffects) await this.#commit(batch);
    for (const [topic, next] of batch.positions)
      this.#state.positions.set(topic, Math.max(next, this.#state.positions.get(topic) ?? 0));
    this.#noteCaughtUp();
    if (batch.records === 0 && !batch.hasEffects) return this.#rest();
    this.#movedAt = Date.now();
    // Lets probes and heartbeats have their turn between full batches.
    await new Promise((resolve) => setImmediate(resolve));
  }

  async #commit(batch: Batch): Promise<void> {
    const { group, kafka, mayTransact, onApplied } = this.#parts;
    if (this.#isDropped()) return;
    if (!mayTransact())
      throw new ProcessorError(
        'PROCESSOR_SESSION_LOST',
        `partition ${this.partition}: the group was not heard from for a session`,
        true,
      );
    const offsets: CommitOffset[] = [...batch.positions].map(([topic, offset]) => ({
      topic: topicOf(kafka.connection.prefix, topic),
      partition: this.partition,
      offset,
    }));
    // The changelog goes last: its offsets are the last ones returned.
    const stored = await this.#producer.transact({
      records: [...batch.outgoing(), ...batch.changes(this.#changelog)],
      offsets: { group, offsets },
    });
    batch.applyTo(this.#state);
    this.#state.changelogOffset = (stored.at(-1) ?? this.#state.changelogOffset - 1) + 1;
    onApplied(batch.records);
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
