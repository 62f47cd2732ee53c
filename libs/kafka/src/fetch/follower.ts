import type { Broker } from 'kafkajs';
import { setTimeout as delay } from 'node:timers/promises';
import { ClusterConnection, READ_COMMITTED, rootError } from '../client/cluster.ts';
import { silentLogger } from '../client/log.ts';
import { reasonOf } from '../errors.ts';
import type { KafkaConnection, KafkaLogger } from '../port.ts';
import type { FollowOptions, PartitionFollower, PartitionStream } from '../processing-port.ts';
import { dataRecords, type WirePartition } from '../records/fetched.ts';
import { BufferedStream } from './stream.ts';

/** How long the broker holds a fetch without data; also how long a newly opened stream may wait for its first fetch. */
const POLL_MS = 200;
const PARTITION_BYTES = 2 * 1024 * 1024;
const FETCH_BYTES = 8 * 1024 * 1024;
const BACKOFF_MS = [20, 50, 100, 250, 500, 1000];

interface FetchResponse {
  readonly responses: readonly { readonly topicName: string; readonly partitions: readonly WirePartition[] }[];
}

const keyOf = (topic: string, partition: number): string => `${topic}/${partition}`;

/**
 * Follows partitions with plain fetches, one loop a broker. No kafkajs consumer is involved, so none of its ways to stall
 * (issues 1456, 1720) or to hold one partition back for another apply: a slow partition stops asking, the others go on.
 */
export class Follower implements PartitionFollower {
  readonly #connection: ClusterConnection;
  readonly #logger: KafkaLogger;
  readonly #name: string;
  readonly #streams = new Map<string, BufferedStream>();
  readonly #loops = new Map<string, Promise<void>>();
  #kicking: Promise<void> | undefined;
  #kickAgain = false;
  #failures = 0;
  #closed = false;

  constructor(connection: KafkaConnection, name: string) {
    this.#connection = new ClusterConnection(connection, name);
    this.#logger = connection.logger ?? silentLogger;
    this.#name = name;
  }

  open(options: FollowOptions): PartitionStream {
    const key = keyOf(options.topic, options.partition);
    this.#streams.get(key)?.close();
    const stream = new BufferedStream(
      options,
      () => this.#kick(),
      () => {
        if (this.#streams.get(key) === stream) this.#streams.delete(key);
      },
    );
    this.#streams.set(key, stream);
    this.#kick();
    return stream;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const stream of [...this.#streams.values()]) stream.close();
    await this.#connection.close();
    await this.#kicking;
    await Promise.all(this.#loops.values());
  }

  /** Sees to it that every broker that leads a hungry stream has a running loop. */
  #kick(): void {
    if (this.#closed) return;
    if (this.#kicking !== undefined) {
      this.#kickAgain = true;
      return;
    }
    this.#kicking = this.#startLoops().finally(() => {
      this.#kicking = undefined;
      if (!this.#kickAgain) return;
      this.#kickAgain = false;
      this.#kick();
    });
  }

  #hungry(): BufferedStream[] {
    return [...this.#streams.values()].filter((stream) => stream.hungry);
  }

  async #startLoops(): Promise<void> {
    const hungry = this.#hungry();
    if (hungry.length === 0) return;
    try {
      await this.#connection.cluster([...new Set(hungry.map(({ topic }) => topic))]);
      let leaderless = false;
      for (const { topic, partition } of hungry) {
        const leader = this.#connection.leaderOf(topic, partition);
        if (leader === undefined) leaderless = true;
        else if (!this.#loops.has(leader)) {
          const loop = this.#run(leader).finally(() => {
            this.#loops.delete(leader);
            if (this.#hungry().length > 0) this.#kick();
          });
          this.#loops.set(leader, loop);
        }
      }
      if (leaderless) {
        await delay(100);
        await this.#connection.recover(
          Object.assign(new Error('a partition has no leader'), { type: 'LEADER_NOT_AVAILABLE' }),
        );
        this.#kickAgain = true;
      }
    } catch (error) {
      if (this.#closed) return;
      await this.#backOff(error);
      this.#kickAgain = true;
    }
  }

  /** Fetches from one broker while it leads a hungry stream. */
  async #run(nodeId: string): Promise<void> {
    while (!this.#closed) {
      const wanted = this.#hungry().filter(({ topic, partition }) => this.#leader(topic, partition) === nodeId);
      if (wanted.length === 0) return;
      try {
        const cluster = await this.#connection.cluster([...new Set(wanted.map(({ topic }) => topic))]);
        const broker = await cluster.findBroker({ nodeId });
        await this.#fetch(broker, wanted);
        this.#failures = 0;
      } catch (error) {
        if (this.#closed) return;
        await this.#recover(error, wanted);
        return;
      }
    }
  }

  #leader(topic: string, partition: number): string | undefined {
    try {
      return this.#connection.leaderOf(topic, partition);
    } catch {
      return undefined;
    }
  }

  async #fetch(broker: Broker, wanted: readonly BufferedStream[]): Promise<void> {
    const requested = new Map(wanted.map((stream) => [keyOf(stream.topic, stream.partition), stream.position]));
    const byTopic = new Map<string, { partition: number; fetchOffset: string; maxBytes: number }[]>();
    for (const { topic, partition, position } of wanted)
      byTopic.set(topic, [
        ...(byTopic.get(topic) ?? []),
        { partition, fetchOffset: String(position), maxBytes: PARTITION_BYTES },
      ]);
    const response = (await broker.fetch({
      isolationLevel: READ_COMMITTED,
      maxWaitTime: POLL_MS,
      minBytes: 1,
      maxBytes: FETCH_BYTES,
      topics: [...byTopic].map(([topic, partitions]) => ({ topic, partitions })),
      rackId: '',
    })) as FetchResponse;
    for (const { topicName, partitions } of response.responses)
      for (const answer of partitions) {
        const key = keyOf(topicName, answer.partition);
        const from = requested.get(key);
        if (from !== undefined) this.#streams.get(key)?.deliver(from, dataRecords(topicName, from, answer));
      }
  }

  async #recover(error: unknown, wanted: readonly BufferedStream[]): Promise<void> {
    const cause = rootError(error);
    if (cause.name === 'KafkaJSOffsetOutOfRange' || cause.type === 'OFFSET_OUT_OF_RANGE') {
      try {
        for (const stream of wanted) await this.#putInRange(stream);
        return;
      } catch (inner) {
        await this.#backOff(inner);
        return;
      }
    }
    await this.#backOff(error);
  }

  async #putInRange(stream: BufferedStream): Promise<void> {
    const { topic, partition } = stream;
    const cluster = await this.#connection.cluster([topic]);
    const offsetAt = async (fromBeginning: boolean): Promise<number> => {
      const [found] = await cluster.fetchTopicsOffset([{ topic, partitions: [{ partition }], fromBeginning }]);
      return Number(found?.partitions[0]?.offset ?? 0);
    };
    const [start, end] = [await offsetAt(true), await offsetAt(false)];
    const to = stream.position < start ? start : stream.position > end ? start : stream.position;
    if (to === stream.position) return;
    this.#logger.warn(
      { follower: this.#name, topic, partition, from: stream.position, to },
      'offset not in the log, going on',
    );
    stream.jump(to);
  }

  async #backOff(error: unknown): Promise<void> {
    const wait = BACKOFF_MS[Math.min(this.#failures, BACKOFF_MS.length - 1)] ?? 1000;
    this.#failures += 1;
    const log = this.#failures > 3 ? this.#logger.warn.bind(this.#logger) : this.#logger.debug.bind(this.#logger);
    log({ follower: this.#name, failures: this.#failures, error: reasonOf(error) }, 'fetch failed, trying again');
    await delay(wait);
    await this.#connection.recover(error);
  }
}
