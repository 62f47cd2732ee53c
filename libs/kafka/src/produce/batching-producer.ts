import { setTimeout as delay } from 'node:timers/promises';
import { Partitioners, type Message, type Producer } from 'kafkajs';
import { createClient, CLIENT_RETRY } from '../client/client.ts';
import { rootError } from '../client/cluster.ts';
import { silentLogger } from '../client/log.ts';
import { KafkaClosedError, KafkaUnavailableError, reasonOf, RecordTooLargeError } from '../errors.ts';
import type { KafkaConnection, OutgoingRecord } from '../port.ts';
import { partitionFor } from './partitioner.ts';

/** Most bytes of one partition in one request, and of one record: below the broker's 1 MiB with room for framing. */
export const MAX_RECORD_BYTES = 1_000_000;
const MAX_REQUEST_BYTES = 8_000_000;
const MAX_REQUEST_RECORDS = 2_000;
const DELIVERY_MS = 45_000;

/** Errors of the broker that no retry mends. */
const TERMINAL = new Set([
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'INVALID_TOPIC_EXCEPTION',
  'TOPIC_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'INVALID_RECORD',
]);

/** Where a record was stored. */
export interface Stored {
  readonly partition: number;
  readonly offset: number;
}

interface Pending {
  readonly record: OutgoingRecord & { readonly partition: number };
  readonly bytes: number;
  readonly since: number;
  readonly resolve: (stored: Stored) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * One idempotent kafkajs producer with one request in flight. kafkajs has no linger, so whatever arrives while a request
 * is out goes together into the next one. A producer whose sequence broke is replaced: a record may then be stored twice,
 * which consumers settle by id.
 */
export class BatchingProducer {
  readonly #connection: KafkaConnection;
  readonly #partitions: number;
  readonly #name: string;
  #queue: Pending[] = [];
  #producer: Promise<Producer> | undefined;
  #pumping: Promise<void> | undefined;
  #closed = false;
  #spread = Math.floor(Math.random() * 1024);

  constructor(connection: KafkaConnection, partitions: number, name: string) {
    this.#connection = connection;
    this.#partitions = partitions;
    this.#name = name;
  }

  /** Stores a record. See {@link EventProducer} for what it throws. */
  send(record: OutgoingRecord): Promise<Stored> {
    if (this.#closed) return Promise.reject(new KafkaClosedError(`producer ${this.#name}`));
    const bytes = sizeOf(record);
    if (bytes > MAX_RECORD_BYTES) return Promise.reject(new RecordTooLargeError(record.topic, bytes, MAX_RECORD_BYTES));
    const partition = record.partition ?? this.#choose(record.key);
    return new Promise((resolve, reject) => {
      this.#queue.push({ record: { ...record, partition }, bytes, since: Date.now(), resolve, reject });
      this.#pumping ??= this.#pump();
    });
  }

  async flush(): Promise<void> {
    while (this.#pumping !== undefined) await this.#pumping;
  }

  /** Refuses new records, waits for those under way up to `withinMs`, disconnects. */
  async close(withinMs: number): Promise<void> {
    this.#closed = true;
    await Promise.race([this.flush(), delay(withinMs, undefined, { ref: false })]);
    for (const pending of this.#queue.splice(0)) pending.reject(new KafkaClosedError(`producer ${this.#name}`));
    await this.#discard();
  }

  #choose(key: Buffer | string | null): number {
    if (key !== null) return partitionFor(key, this.#partitions);
    this.#spread += 1;
    return this.#spread % this.#partitions;
  }

  async #pump(): Promise<void> {
    // One turn of the event loop gathers what callers start together.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const batch = this.#nextBatch();
      await this.#deliver(batch);
    }
    // In the same turn as the check above: a record queued later must find no pump and start one.
    this.#pumping = undefined;
  }

  #nextBatch(): Pending[] {
    const perPartition = new Map<string, number>();
    let bytes = 0;
    let count = 0;
    for (const pending of this.#queue) {
      const place = `${pending.record.topic}/${pending.record.partition}`;
      const there = (perPartition.get(place) ?? 0) + pending.bytes;
      if (count > 0 && (there > MAX_RECORD_BYTES || bytes + pending.bytes > MAX_REQUEST_BYTES)) break;
      if (count >= MAX_REQUEST_RECORDS) break;
      perPartition.set(place, there);
      bytes += pending.bytes;
      count += 1;
    }
    return this.#queue.splice(0, count);
  }

  async #deliver(batch: Pending[]): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        this.#acknowledge(batch, await this.#request(batch));
        return;
      } catch (error) {
        const cause = rootError(error);
        await this.#discard();
        if (TERMINAL.has(cause.type ?? '')) {
          if (batch.length > 1) {
            // One bad record must not fail its neighbours.
            for (const pending of batch) await this.#deliver([pending]);
            return;
          }
          batch[0]?.reject(refusalOf(batch[0].record.topic, cause));
          return;
        }
        const oldest = Math.min(...batch.map(({ since }) => since));
        if (this.#closed || Date.now() - oldest > DELIVERY_MS) {
          for (const pending of batch)
            pending.reject(new KafkaUnavailableError(`producing to ${pending.record.topic}`, cause));
          return;
        }
        (this.#connection.logger ?? silentLogger).warn(
          { producer: this.#name, attempt, records: batch.length, error: reasonOf(cause), type: cause.type },
          'produce failed, trying again',
        );
        await delay(Math.min(50 * 2 ** attempt, 1000));
      }
    }
  }

  async #request(batch: readonly Pending[]): Promise<Map<string, number>> {
    const producer = await (this.#producer ??= this.#open());
    const byTopic = new Map<string, Message[]>();
    for (const { record } of batch) {
      const messages = byTopic.get(record.topic) ?? [];
      messages.push(messageOf(record));
      byTopic.set(record.topic, messages);
    }
    const stored = await producer.sendBatch({
      acks: -1,
      topicMessages: [...byTopic].map(([topic, messages]) => ({ topic, messages })),
    });
    return new Map(
      stored.map(({ topicName, partition, baseOffset }) => [`${topicName}/${partition}`, Number(baseOffset ?? -1)]),
    );
  }

  #acknowledge(batch: readonly Pending[], bases: ReadonlyMap<string, number>): void {
    const counts = new Map<string, number>();
    const topics = new Map<string, number>();
    for (const { record, resolve } of batch) {
      const place = `${record.topic}/${record.partition}`;
      const index = counts.get(place) ?? 0;
      counts.set(place, index + 1);
      topics.set(record.topic, (topics.get(record.topic) ?? 0) + 1);
      resolve({ partition: record.partition, offset: (bases.get(place) ?? -1) + index });
    }
    for (const [topic, count] of topics) this.#connection.observer?.produced?.(topic, count);
  }

  async #open(): Promise<Producer> {
    const producer = createClient(this.#connection, this.#name).producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
      retry: CLIENT_RETRY,
    });
    await producer.connect();
    return producer;
  }

  async #discard(): Promise<void> {
    const opening = this.#producer;
    this.#producer = undefined;
    await opening?.then((producer) => producer.disconnect()).catch(() => undefined);
  }
}

/** A record as kafkajs takes it. */
export const messageOf = (record: OutgoingRecord & { readonly partition: number }): Message => ({
  key: record.key,
  value: record.value,
  partition: record.partition,
  ...(record.headers === undefined ? {} : { headers: { ...record.headers } }),
});

/** Bytes a record takes on the wire, about. */
export function sizeOf(record: OutgoingRecord): number {
  let bytes = 64 + (record.value?.length ?? 0);
  if (record.key !== null) bytes += Buffer.byteLength(record.key);
  for (const [name, value] of Object.entries(record.headers ?? {}))
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value) + 8;
  return bytes;
}

function refusalOf(topic: string, cause: Error & { type?: string }): Error {
  if (cause.type === 'MESSAGE_TOO_LARGE' || cause.type === 'RECORD_LIST_TOO_LARGE')
    return new RecordTooLargeError(topic, MAX_RECORD_BYTES, MAX_RECORD_BYTES);
  return cause;
}
