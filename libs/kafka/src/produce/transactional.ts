import { groupIdOf } from '@espalier/contracts';
import { Partitioners, type Producer, type Transaction } from 'kafkajs';
import { createClient } from '../client/client.ts';
import { rootError } from '../client/cluster.ts';
import { FencedError, KafkaUnavailableError } from '../errors.ts';
import type { KafkaConnection, OutgoingRecord } from '../port.ts';
import type { TransactionalProducer, TransactionContent } from '../processing-port.ts';
import { MAX_RECORD_BYTES, messageOf, sizeOf } from './batching-producer.ts';
import { partitionFor } from './partitioner.ts';

const TRANSACTION_TIMEOUT_MS = 10_000;

/** What the coordinator says to a holder that was replaced, or whose transaction it has timed out. */
const FENCED = new Set([
  'INVALID_PRODUCER_EPOCH',
  'PRODUCER_FENCED',
  'INVALID_PRODUCER_ID_MAPPING',
  'UNKNOWN_PRODUCER_ID',
  'CONCURRENT_TRANSACTIONS',
  'INVALID_TXN_STATE',
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'TRANSACTION_COORDINATOR_FENCED',
]);

type Placed = OutgoingRecord & { readonly partition: number };

/** {@link TransactionalProducer} on kafkajs. Used by one task, one transaction at a time. */
export class KafkaTransactionalProducer implements TransactionalProducer {
  readonly #connection: KafkaConnection;
  readonly #partitions: number;
  readonly #id: string;
  readonly #producer: Producer;
  readonly #onClosed: () => void;

  constructor(connection: KafkaConnection, partitions: number, id: string, onClosed: () => void = () => undefined) {
    this.#connection = connection;
    this.#onClosed = onClosed;
    this.#partitions = partitions;
    this.#id = `${connection.prefix}.${id}`;
    this.#producer = createClient(connection, id).producer({
      transactionalId: this.#id,
      // The transaction makes its own idempotent sequence; `idempotent` would ask for a second producer id.
      idempotent: false,
      maxInFlightRequests: 1,
      transactionTimeout: TRANSACTION_TIMEOUT_MS,
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
      // The commit of one transaction is still being written when the next begins: asking again after 3 ms, not 300.
      retry: { initialRetryTime: 3, maxRetryTime: 250, multiplier: 2, factor: 0.2, retries: 14 },
    });
  }

  async open(): Promise<void> {
    try {
      await this.#producer.connect();
    } catch (error) {
      throw new KafkaUnavailableError(`connecting ${this.#id}`, rootError(error));
    }
  }

  async transact(content: TransactionContent): Promise<readonly number[]> {
    try {
      const transaction = await this.#producer.transaction();
      try {
        const placed = content.records.map((record) => ({ ...record, partition: this.#place(record) }));
        const offsets: number[] = [];
        for (const part of inRequests(placed)) offsets.push(...(await this.#send(transaction, part)));
        if (content.offsets !== undefined && content.offsets.offsets.length > 0)
          await transaction.sendOffsets({
            consumerGroupId: groupIdOf(this.#connection.prefix, content.offsets.group),
            topics: content.offsets.offsets.map(({ topic, partition, offset }) => ({
              topic,
              partitions: [{ partition, offset: String(offset) }],
            })),
          });
        await transaction.commit();
        for (const [topic, count] of countBy(placed, ({ topic: name }) => name))
          this.#connection.observer?.produced?.(topic, count);
        return offsets;
      } catch (error) {
        await transaction.abort().catch(() => undefined);
        throw error;
      }
    } catch (error) {
      const cause = rootError(error);
      if (FENCED.has(cause.type ?? '')) throw new FencedError(this.#id, cause);
      throw new KafkaUnavailableError(`transaction of ${this.#id}`, cause);
    }
  }

  async close(): Promise<void> {
    this.#onClosed();
    await this.#producer.disconnect().catch(() => undefined);
  }

  async #send(transaction: Transaction, records: readonly Placed[]): Promise<number[]> {
    const byTopic = new Map<string, Placed[]>();
    for (const record of records) byTopic.set(record.topic, [...(byTopic.get(record.topic) ?? []), record]);
    const stored = await transaction.sendBatch({
      acks: -1,
      topicMessages: [...byTopic].map(([topic, list]) => ({ topic, messages: list.map(messageOf) })),
    });
    const bases = new Map(
      stored.map(({ topicName, partition, baseOffset }) => [`${topicName}/${partition}`, Number(baseOffset ?? -1)]),
    );
    const indexes = new Map<string, number>();
    return records.map(({ topic, partition }) => {
      const place = `${topic}/${partition}`;
      const index = indexes.get(place) ?? 0;
      indexes.set(place, index + 1);
      return (bases.get(place) ?? -1) + index;
    });
  }

  #place(record: OutgoingRecord): number {
    if (record.partition !== undefined) return record.partition;
    return record.key === null ? 0 : partitionFor(record.key, this.#partitions);
  }
}

/** Cuts records into requests, in order: kafkajs makes one batch a partition of each, and a batch has a size limit. */
function inRequests(records: readonly Placed[]): Placed[][] {
  const requests: Placed[][] = [];
  let sizes = new Map<string, number>();
  for (const record of records) {
    const place = `${record.topic}/${record.partition}`;
    const size = (sizes.get(place) ?? 0) + sizeOf(record);
    const last = requests.at(-1);
    if (last === undefined || size > MAX_RECORD_BYTES) {
      requests.push([record]);
      sizes = new Map([[place, sizeOf(record)]]);
    } else {
      last.push(record);
      sizes.set(place, size);
    }
  }
  return requests;
}

function countBy<T>(items: readonly T[], of: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(of(item), (counts.get(of(item)) ?? 0) + 1);
  return counts;
}
