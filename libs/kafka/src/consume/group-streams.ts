import { silentLogger } from '../client/log.ts';
import { FencedError, reasonOf } from '../errors.ts';
import { Follower } from '../fetch/follower.ts';
import { DEFAULT_TIMINGS, KafkaGroupMembership } from '../groups/membership.ts';
import type { ConsumerTimings, KafkaConnection, KafkaLogger, TopicAdmin } from '../port.ts';
import type { CommitOffset, GroupAssignment, PartitionStream } from '../processing-port.ts';
import { within } from './within.ts';
import { Watermark } from './watermark.ts';

const COMMIT_MS = 200;
/** How long a new generation waits for what the former one has in hand. */
const HANDOVER_MS = 10_000;
/** A handler may take long; one that takes this many stall times is taken for hung. */
const HUNG_STALLS = 10;

/** A partition this member holds for one generation. */
export interface AssignedPartition {
  readonly topic: string;
  readonly partition: number;
  readonly stream: PartitionStream;
  readonly watermark: Watermark;
  /** Aborted when the generation ends: begin nothing more. */
  readonly signal: AbortSignal;
  committed: number;
  movedAt: number;
}

/** Options of {@link GroupStreams}. */
export interface GroupStreamsOptions {
  readonly group: string;
  /** Physical topics. */
  readonly topics: readonly string[];
  readonly from: 'earliest' | 'latest';
  readonly bufferRecords?: number;
  readonly timings?: Partial<ConsumerTimings>;
  /** Consumes one partition until its signal aborts. Must not throw. */
  readonly consume: (assigned: AssignedPartition) => Promise<void>;
  readonly onChunk?: () => void;
}

interface Generation {
  readonly assignment: GroupAssignment;
  readonly abort: AbortController;
  readonly partitions: AssignedPartition[];
  readonly running: Promise<void>[];
}

/**
 * Follows the partitions that a group assigns to this member, from their committed offsets, and commits watermarks under
 * the generation they were consumed in: a commit that comes too late is dropped here, since the broker would take it
 * (kafkajs issue 1046).
 */
export class GroupStreams {
  readonly #options: GroupStreamsOptions;
  readonly #admin: TopicAdmin;
  readonly #logger: KafkaLogger;
  readonly #timings: ConsumerTimings;
  readonly #membership: KafkaGroupMembership;
  readonly #follower: Follower;
  #generation: Generation | undefined;
  /** The former generation's handlers, until they have ended. */
  #former: Promise<unknown> = Promise.resolve();
  /** What this process has handled of partitions it held, by topic and partition: true whoever holds them now. */
  readonly #handled = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #committing: Promise<void> | undefined;
  #fatal: Error | undefined;

  constructor(connection: KafkaConnection, admin: TopicAdmin, options: GroupStreamsOptions) {
    this.#options = options;
    this.#admin = admin;
    this.#logger = connection.logger ?? silentLogger;
    this.#timings = { ...DEFAULT_TIMINGS, ...options.timings };
    this.#follower = new Follower(connection, `follow-${options.group}`);
    this.#membership = new KafkaGroupMembership(connection, {
      group: options.group,
      topics: options.topics,
      ...(options.timings === undefined ? {} : { timings: options.timings }),
      onAssigned: (assignment) => this.#assigned(assignment),
      onRevoked: () => this.#revoked(),
      onFatal: (error) => (this.#fatal = error),
    });
  }

  async start(): Promise<void> {
    await this.#membership.start();
    this.#timer = setInterval(() => void this.commit(), COMMIT_MS);
  }

  /** Begins nothing more, waits up to `withinMs` for what is in hand, commits, leaves. */
  async stop(withinMs: number): Promise<void> {
    clearInterval(this.#timer);
    const generation = this.#generation;
    if (generation !== undefined) {
      generation.abort.abort();
      for (const { stream } of generation.partitions) stream.close();
      await within(withinMs, Promise.all(generation.running));
      await this.commit();
    }
    await this.#membership.stop();
    await this.#follower.close();
  }

  partitions(): readonly AssignedPartition[] {
    return this.#generation?.partitions ?? [];
  }

  healthy(): boolean {
    if (this.#fatal !== undefined) return false;
    const now = Date.now();
    const { stallMs } = this.#timings;
    return this.partitions().every((assigned) => {
      const { stream, watermark, movedAt } = assigned;
      const behind = stream.endOffset > watermark.committable;
      // A broker that does not answer is not mended by restarting this process.
      if (!behind || now - stream.answeredAt > stallMs) return true;
      return now - movedAt < (watermark.underWay > 0 ? HUNG_STALLS : 1) * stallMs;
    });
  }

  /** Commits what has moved. Never throws: what could not be committed is committed next time, or by the next owner again. */
  async commit(): Promise<void> {
    this.#committing ??= this.#commitMoved().finally(() => (this.#committing = undefined));
    await this.#committing;
  }

  async #commitMoved(): Promise<void> {
    const generation = this.#generation;
    if (generation === undefined) return;
    const moved = generation.partitions
      .map((assigned) => ({ assigned, offset: assigned.watermark.committable }))
      .filter(({ assigned, offset }) => offset > assigned.committed);
    if (moved.length === 0) return;
    const offsets: CommitOffset[] = moved.map(({ assigned: { topic, partition }, offset }) => ({
      topic,
      partition,
      offset,
    }));
    try {
      await this.#membership.commit(generation.assignment.generation, offsets);
      for (const { assigned, offset } of moved) {
        assigned.committed = offset;
        assigned.movedAt = Date.now();
      }
    } catch (error) {
      const level = error instanceof FencedError ? 'debug' : 'warn';
      this.#logger[level]({ group: this.#options.group, error: reasonOf(error) }, 'offsets not committed');
    }
  }

  #assigned(assignment: GroupAssignment): void {
    const generation: Generation = { assignment, abort: new AbortController(), partitions: [], running: [] };
    this.#generation = generation;
    void this.#open(generation);
  }

  #revoked(): void {
    const generation = this.#generation;
    this.#generation = undefined;
    if (generation === undefined) return;
    generation.abort.abort();
    for (const { stream } of generation.partitions) stream.close();
    this.#former = Promise.all([this.#former, ...generation.running]).then(() => {
      for (const { topic, partition, watermark } of generation.partitions)
        this.#handled.set(`${topic}/${partition}`, watermark.committable);
    });
  }

  async #open(generation: Generation): Promise<void> {
    // The same partition may come back at once: what is in hand would be handled twice, at the same time.
    await within(HANDOVER_MS, this.#former);
    for (const [topic, partitions] of generation.assignment.partitions) {
      if (partitions.length === 0) continue;
      const starts = await this.#startsOf(topic, generation.abort.signal);
      if (generation.abort.signal.aborted) return;
      for (const partition of partitions) {
        const offset = Math.max(starts.get(partition) ?? 0, this.#handled.get(`${topic}/${partition}`) ?? 0);
        const stream = this.#follower.open({
          topic,
          partition,
          offset,
          ...(this.#options.bufferRecords === undefined ? {} : { bufferRecords: this.#options.bufferRecords }),
          ...(this.#options.onChunk === undefined ? {} : { onChunk: this.#options.onChunk }),
        });
        const assigned: AssignedPartition = {
          topic,
          partition,
          stream,
          watermark: new Watermark(offset),
          signal: generation.abort.signal,
          committed: starts.get(partition) ?? 0,
          movedAt: Date.now(),
        };
        generation.partitions.push(assigned);
        generation.running.push(this.#options.consume(assigned));
      }
    }
  }

  /** Where to begin: the committed offset, else the configured end of the log. Asks until it knows or the generation ends. */
  async #startsOf(topic: string, signal: AbortSignal): Promise<Map<number, number>> {
    while (!signal.aborted) {
      try {
        const { group, from } = this.#options;
        const committed = await this.#admin.groupOffsets(group, topic);
        const otherwise = await (from === 'earliest' ? this.#admin.startOffsets(topic) : this.#admin.endOffsets(topic));
        return new Map([...otherwise, ...committed].map(({ partition, offset }) => [partition, offset]));
      } catch (error) {
        this.#logger.warn({ group: this.#options.group, topic, error: reasonOf(error) }, 'committed offsets not read');
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    }
    return new Map();
  }
}
