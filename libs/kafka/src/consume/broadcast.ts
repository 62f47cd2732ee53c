import { topicOf, type TopicName } from '@espalier/contracts';
import { DecodeError } from '@espalier/avro';
import { boundary } from '../admin/offsets.ts';
import { ClusterConnection } from '../client/cluster.ts';
import { silentLogger } from '../client/log.ts';
import { reasonOf } from '../errors.ts';
import { Follower } from '../fetch/follower.ts';
import type { BroadcastConsumer, BroadcastOptions, KafkaConnection, KafkaLogger, RawRecord } from '../port.ts';
import type { PartitionStream } from '../processing-port.ts';
import { consumedEvent } from '../records/decoded.ts';

interface Followed<T> {
  readonly topic: T;
  readonly stream: PartitionStream;
  handled: number;
  movedAt: number;
}

const STALL_MS = 60_000;

/** {@link KafkaPort.broadcast}: follows every partition from offsets read at the start; no group is involved. */
export class DirectBroadcast<T extends TopicName> implements BroadcastConsumer {
  readonly #connection: KafkaConnection;
  readonly #options: BroadcastOptions<T>;
  readonly #logger: KafkaLogger;
  readonly #followed = new Map<string, Followed<T>>();
  readonly #running: Promise<void>[] = [];
  #offsets: ClusterConnection | undefined;
  #follower: Follower | undefined;
  #moved: (() => void)[] = [];
  #stopped = false;

  constructor(connection: KafkaConnection, options: BroadcastOptions<T>) {
    this.#connection = connection;
    this.#options = options;
    this.#logger = connection.logger ?? silentLogger;
  }

  async start(): Promise<void> {
    if (this.#follower !== undefined) return;
    const purpose = `broadcast-${this.#options.topics.join('+')}`;
    const follower = new Follower(this.#connection, purpose);
    this.#follower = follower;
    this.#offsets = new ClusterConnection(this.#connection, `${purpose}-offsets`);
    for (const topic of this.#options.topics) {
      const physical = topicOf(this.#connection.prefix, topic);
      const begin = await boundary(this.#offsets, physical, this.#options.from === 'latest' ? 'end' : 'start');
      for (const { partition, offset } of begin) {
        const stream = follower.open({ topic: physical, partition, offset });
        const followed: Followed<T> = { topic, stream, handled: offset, movedAt: Date.now() };
        this.#followed.set(`${topic}/${partition}`, followed);
        this.#running.push(this.#consume(followed));
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#follower?.close();
    await this.#offsets?.close();
    await Promise.all(this.#running);
    this.#announce();
  }

  healthy(): boolean {
    const now = Date.now();
    return [...this.#followed.values()].every(
      ({ stream, handled, movedAt }) =>
        stream.endOffset <= handled || now - movedAt < STALL_MS || now - stream.answeredAt > STALL_MS / 4,
    );
  }

  position(topic: TopicName, partition: number): number {
    return this.#followed.get(`${topic}/${partition}`)?.handled ?? 0;
  }

  async caughtUp(): Promise<void> {
    const offsets = this.#offsets;
    if (offsets === undefined) return;
    for (const topic of this.#options.topics)
      for (const { partition, offset } of await boundary(offsets, topicOf(this.#connection.prefix, topic), 'end'))
        while (this.position(topic, partition) < offset && !this.#stopped)
          await new Promise<void>((resolve) => this.#moved.push(resolve));
  }

  async #consume(followed: Followed<T>): Promise<void> {
    const { topic, stream } = followed;
    while (!stream.closed) {
      await stream.ready();
      for (let chunk = stream.take(); chunk !== undefined; chunk = stream.take()) {
        for (const record of chunk.records) {
          if (this.#stopped) return;
          await this.#handle(topic, record);
          followed.handled = record.offset + 1;
          followed.movedAt = Date.now();
        }
        followed.handled = chunk.nextOffset;
        followed.movedAt = Date.now();
        this.#announce();
      }
    }
  }

  #announce(): void {
    const waiting = this.#moved;
    this.#moved = [];
    for (const resolve of waiting) resolve();
  }

  async #handle(topic: T, record: RawRecord): Promise<void> {
    const place = { topic, partition: record.partition, offset: record.offset };
    try {
      await this.#options.handler(consumedEvent(topic, record));
    } catch (error) {
      if (!(error instanceof DecodeError)) this.#logger.error({ ...place, error: reasonOf(error) }, 'handler threw');
      else if (this.#options.onUndecodable !== undefined) this.#options.onUndecodable(record, error);
      else this.#logger.warn({ ...place, code: error.code, error: error.message }, 'record does not decode, skipped');
    }
  }
}
