import { groupIdOf } from '@espalier/contracts';
import type { Consumer } from 'kafkajs';
import { createClient } from '../client/client.ts';
import { PartitionAssigners, rootError } from '../client/cluster.ts';
import { silentLogger } from '../client/log.ts';
import { FencedError, KafkaError, KafkaUnavailableError, reasonOf } from '../errors.ts';
import type { ConsumerTimings, KafkaConnection, KafkaLogger } from '../port.ts';
import type { CommitOffset, GroupAssignment, GroupMembership, GroupOptions } from '../processing-port.ts';
import { stickyCoPartition } from './sticky-assignor.ts';

/** Default times of group consumers. */
export const DEFAULT_TIMINGS: ConsumerTimings = {
  // Short: heartbeats do not wait for handlers, and until a killed member's session ends nobody reads its partitions.
  sessionTimeoutMs: 10_000,
  heartbeatMs: 2_500,
  rebalanceTimeoutMs: 30_000,
  stallMs: 60_000,
};

const FIRST_JOIN_MS = 60_000;
const RESTART_WINDOW_MS = 120_000;
const RESTARTS = 5;
const LEAVE_MS = 5_000;
const JOIN_SLACK_MS = 5_000;

/** Commit errors that say: you are no longer the member you were. */
const STALE_MEMBER = new Set([
  'ILLEGAL_GENERATION',
  'UNKNOWN_MEMBER_ID',
  'REBALANCE_IN_PROGRESS',
  'FENCED_INSTANCE_ID',
]);

/**
 * {@link GroupMembership} by a kafkajs consumer that has every partition paused: it joins, heartbeats and hears of
 * rebalances, and fetches nothing. A consumer that crashes is replaced by a new one.
 */
export class KafkaGroupMembership implements GroupMembership {
  readonly #connection: KafkaConnection;
  readonly #options: GroupOptions;
  readonly #timings: ConsumerTimings;
  readonly #logger: KafkaLogger;
  readonly #groupId: string;
  #consumer: Consumer | undefined;
  #assignment: GroupAssignment | undefined;
  #generation = 0;
  #previous: readonly number[] = [];
  #heardAt = Date.now();
  #stopped = false;
  /** Set while the group is to be left and joined anew. */
  #rejoinReason: string | undefined;
  /** Why the consumer in hand crashed; it never runs again. */
  #crash: Error | undefined;
  #restarting: Promise<void> | undefined;
  readonly #restarts: number[] = [];
  #joined: (() => void) | undefined;
  #watch: NodeJS.Timeout | undefined;

  constructor(connection: KafkaConnection, options: GroupOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#timings = { ...DEFAULT_TIMINGS, ...options.timings };
    this.#logger = connection.logger ?? silentLogger;
    this.#groupId = groupIdOf(connection.prefix, options.group);
  }

  async start(): Promise<void> {
    this.#watch = setInterval(() => this.#replaceSilent(), Math.max(200, this.#timings.heartbeatMs));
    const joined = new Promise<void>((resolve) => (this.#joined = resolve));
    const opening = this.#open().catch((error: unknown) => this.#restart(reasonOf(error)));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () =>
          reject(new KafkaUnavailableError(`group ${this.#groupId} was not joined within ${FIRST_JOIN_MS / 1000} s`)),
        FIRST_JOIN_MS,
      );
    });
    try {
      await Promise.race([joined, late]);
    } finally {
      clearTimeout(timer);
    }
    await opening;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#watch);
    this.#revoke();
    await this.#restarting;
    await this.#leave();
  }

  rejoin(reason: string): void {
    this.#revoke();
    // With the next heartbeat: only then can the leave be said, without which the group waits for a session to run out.
    this.#rejoinReason ??= reason;
  }

  assignment(): GroupAssignment | undefined {
    return this.#assignment;
  }

  silentForMs(): number {
    return Date.now() - this.#heardAt;
  }

  async commit(generation: number, offsets: readonly CommitOffset[]): Promise<void> {
    const fence = (): void => {
      if (this.#assignment?.generation !== generation || this.#consumer === undefined)
        throw new FencedError(`committing offsets of ${this.#groupId}`, new Error('the generation has ended'));
    };
    for (let attempt = 0; ; attempt += 1) {
      fence();
      try {
        await this.#consumer?.commitOffsets(
          offsets.map(({ topic, partition, offset }) => ({ topic, partition, offset: String(offset) })),
        );
        return;
      } catch (error) {
        const cause = rootError(error);
        fence();
        if (STALE_MEMBER.has(cause.type ?? '')) throw new FencedError(`committing offsets of ${this.#groupId}`, cause);
        if (attempt >= 4) throw new KafkaUnavailableError(`committing offsets of ${this.#groupId}`, cause);
        await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** attempt));
      }
    }
  }

  /**
   * kafkajs can be left waiting for ever for an answer that a lost connection took with it, without an error or an event. A member
   * silent beyond its session has lost its place anyway.
   */
  #replaceSilent(): void {
    if (this.#restarting !== undefined || this.#stopped) return;
    const joining = this.#assignment === undefined && this.#rejoinReason === undefined;
    if (this.silentForMs() > (joining ? this.#joinMs : this.#timings.sessionTimeoutMs))
      void this.#restart('not heard from for a session');
  }

  /** The longest that an undisturbed join may take: the others have the rebalance timeout to come, the dead their session. */
  get #joinMs(): number {
    return this.#timings.sessionTimeoutMs + this.#timings.rebalanceTimeoutMs + JOIN_SLACK_MS;
  }

  async #open(): Promise<void> {
    const { topics, coPartitioned } = this.#options;
    const { sessionTimeoutMs, heartbeatMs, rebalanceTimeoutMs } = this.#timings;
    const consumer = createClient(this.#connection, `group-${this.#options.group}`).consumer({
      groupId: this.#groupId,
      sessionTimeout: sessionTimeoutMs,
      heartbeatInterval: heartbeatMs,
      rebalanceTimeout: rebalanceTimeoutMs,
      // Nothing is fetched: this is how often kafkajs looks whether a heartbeat is due.
      maxWaitTimeInMs: Math.max(50, Math.min(500, Math.floor(heartbeatMs / 4))),
      allowAutoTopicCreation: false,
      partitionAssigners:
        coPartitioned === true ? [stickyCoPartition(() => this.#previous)] : [PartitionAssigners.roundRobin],
      // About 25 seconds: a member that lives through a broker's restart keeps its place, a new one waits for the old to lapse.
      retry: { restartOnFailure: () => Promise.resolve(false), initialRetryTime: 50, maxRetryTime: 1000, retries: 30 },
    });
    this.#consumer = consumer;
    const current = (): boolean => this.#consumer === consumer && !this.#stopped;
    consumer.on(consumer.events.HEARTBEAT, () => {
      if (!current()) return;
      this.#heardAt = Date.now();
      if (this.#rejoinReason !== undefined) void this.#restart(this.#rejoinReason);
    });
    consumer.on(consumer.events.REBALANCING, () => {
      if (current()) this.#revoke();
    });
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      // Before kafkajs fetches: this listener runs inside its join.
      consumer.pause(topics.map((topic) => ({ topic })));
      if (!current()) {
        // Given up while it was joining: it must not stay a member that does nothing.
        void consumer.disconnect().catch(() => undefined);
        return;
      }
      this.#heardAt = Date.now();
      this.#rejoinReason = undefined;
      this.#revoke();
      this.#assign(payload.memberAssignment);
    });
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (!current()) return;
      this.#revoke();
      this.#crash = payload.error;
      void this.#restart(reasonOf(payload.error));
    });
    this.#crash = undefined;
    this.#rejoinReason = undefined;
    await consumer.connect();
    await consumer.subscribe({ topics: [...topics], fromBeginning: true });
    await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: () => Promise.resolve() });
  }

  #assign(byTopic: Readonly<Record<string, number[]>>): void {
    this.#generation += 1;
    this.#previous = [...(byTopic[this.#options.topics[0] ?? ''] ?? [])];
    const partitions = new Map(
      Object.entries(byTopic).map(([topic, list]) => [topic, [...list].sort((a, b) => a - b)]),
    );
    this.#assignment = { generation: this.#generation, partitions };
    this.#logger.info(
      { group: this.#groupId, generation: this.#generation, assigned: Object.fromEntries(partitions) },
      'joined the group',
    );
    this.#options.onAssigned(this.#assignment);
    this.#joined?.();
  }

  #revoke(): void {
    if (this.#assignment === undefined) return;
    this.#assignment = undefined;
    this.#options.onRevoked();
  }

  #restart(reason: string): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    this.#restarting ??= this.#replace(reason).finally(() => (this.#restarting = undefined));
    return this.#restarting;
  }

  async #replace(reason: string): Promise<void> {
    let why = reason;
    for (let attempt = 1; !this.#stopped; attempt += 1) {
      if (this.#crash !== undefined && !isConnectionFault(this.#crash)) this.#countCrash(why);
      this.#logger.warn({ group: this.#groupId, reason: why }, 'joining the group anew');
      await this.#leave();
      await new Promise((resolve) => setTimeout(resolve, Math.min(50 * 2 ** attempt, 2000)));
      if (this.#stopped) return;
      try {
        this.#heardAt = Date.now();
        await inTime(this.#joinMs, this.#open());
        if (this.#crash === undefined) return;
        why = reasonOf(this.#crash);
      } catch (error) {
        why = reasonOf(rootError(error));
      }
    }
  }

  /** A group that cannot be held although the brokers answer is not mended by joining it for ever. */
  #countCrash(why: string): void {
    const now = Date.now();
    while ((this.#restarts[0] ?? now) < now - RESTART_WINDOW_MS) this.#restarts.shift();
    this.#restarts.push(now);
    if (this.#restarts.length <= RESTARTS) return;
    this.#restarts.length = 0;
    this.#options.onFatal(
      new KafkaError(
        'KAFKA_GROUP_LOST',
        `group ${this.#groupId} was lost more than ${RESTARTS} times within two minutes: ${why}`,
        true,
      ),
    );
  }

  async #leave(): Promise<void> {
    const consumer = this.#consumer;
    this.#consumer = undefined;
    if (consumer === undefined) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, LEAVE_MS)));
    await Promise.race([consumer.disconnect().catch(() => undefined), late]);
    clearTimeout(timer);
  }
}

/** Brokers that do not answer: nothing that a new process would mend. */
function isConnectionFault(error: unknown): boolean {
  const cause = rootError(error);
  return (
    cause.name.startsWith('KafkaJSConnection') ||
    cause.name === 'KafkaJSBrokerNotFound' ||
    cause.name === 'KafkaJSRequestTimeoutError' ||
    cause.name === 'KafkaJSGroupCoordinatorNotFound' ||
    cause.retriable === true
  );
}

/** The work's own outcome, or a failure after `ms` milliseconds. */
async function inTime(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not joined within ${ms} ms`)), ms);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    // One that comes too late was replaced; see the listeners.
    work.catch(() => undefined);
  }
}
