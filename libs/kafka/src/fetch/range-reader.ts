import type { TopicName } from '@espalier/contracts';
import { boundary, patiently } from '../admin/offsets.ts';
import { ClusterConnection, READ_COMMITTED } from '../client/cluster.ts';
import { KafkaUnavailableError, StalledError } from '../errors.ts';
import type { KafkaConnection, PartitionOffset, RangeReader, RawRecord, StoredEvent } from '../port.ts';
import { dataRecords, type Fetched, type WirePartition } from '../records/fetched.ts';
import { physicalTopic, storedEvent } from '../records/decoded.ts';

const FETCH_BYTES = 8 * 1024 * 1024;
const POLL_MS = 100;
const STALL_MS = 30_000;
/** Answers without any record although committed data lies ahead: only batches emptied by compaction are left. */
const EMPTY_ANSWERS = 5;

/** {@link RangeReader} by plain fetches over one connection. */
export class DirectRangeReader implements RangeReader {
  readonly #connection: ClusterConnection;
  readonly #prefix: string;

  constructor(connection: KafkaConnection) {
    this.#connection = new ClusterConnection(connection, 'reader');
    this.#prefix = connection.prefix;
  }

  async *readRange(topic: string, partition: number, from: number, to?: number): AsyncIterable<RawRecord> {
    const physical = physicalTopic(this.#prefix, topic);
    const limit = to ?? (await this.#bound(physical, partition, 'end'));
    if (from >= limit) return;
    let offset = Math.max(from, await this.#bound(physical, partition, 'start'));
    let movedAt = Date.now();
    let empty = 0;
    while (offset < limit) {
      const { records, nextOffset, endOffset } = await this.#fetch(physical, partition, offset);
      for (const record of records) if (record.offset < limit) yield record;
      if (nextOffset > offset) {
        offset = nextOffset;
        movedAt = Date.now();
        empty = 0;
        continue;
      }
      empty = endOffset > offset ? empty + 1 : 0;
      if (empty >= EMPTY_ANSWERS && endOffset >= limit) return;
      if (Date.now() - movedAt > STALL_MS)
        throw new StalledError(
          `${physical}/${partition}: read up to ${offset}, ${limit} wanted, committed data ends at ${endOffset}; an open transaction may hold it back`,
        );
    }
  }

  async *readAll<T extends TopicName>(
    topic: T,
    range: { readonly from?: readonly PartitionOffset[]; readonly to?: readonly PartitionOffset[] } = {},
  ): AsyncIterable<StoredEvent<T>> {
    const physical = physicalTopic(this.#prefix, topic);
    const from = range.from ?? (await boundary(this.#connection, physical, 'start'));
    const to = range.to ?? (await boundary(this.#connection, physical, 'end'));
    for (const { partition, offset } of to) {
      const start = from.find((bound) => bound.partition === partition)?.offset ?? 0;
      for await (const record of this.readRange(physical, partition, start, offset)) yield storedEvent(topic, record);
    }
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async #bound(topic: string, partition: number, at: 'start' | 'end'): Promise<number> {
    const bounds = await boundary(this.#connection, topic, at);
    const found = bounds.find((bound) => bound.partition === partition);
    if (found === undefined) throw new KafkaUnavailableError(`${topic} has no partition ${partition}`);
    return found.offset;
  }

  #fetch(topic: string, partition: number, offset: number): Promise<Fetched> {
    return patiently(this.#connection, `reading ${topic}/${partition} at ${offset}`, async () => {
      const cluster = await this.#connection.cluster([topic]);
      const nodeId = this.#connection.leaderOf(topic, partition);
      if (nodeId === undefined) throw new KafkaUnavailableError(`${topic}/${partition} has no leader`);
      const broker = await cluster.findBroker({ nodeId });
      const response = (await broker.fetch({
        isolationLevel: READ_COMMITTED,
        maxWaitTime: POLL_MS,
        minBytes: 1,
        maxBytes: FETCH_BYTES,
        topics: [{ topic, partitions: [{ partition, fetchOffset: String(offset), maxBytes: FETCH_BYTES }] }],
        rackId: '',
      })) as { responses: { partitions: WirePartition[] }[] };
      const answer = response.responses[0]?.partitions[0];
      return answer === undefined
        ? { records: [], nextOffset: offset, endOffset: -1 }
        : dataRecords(topic, offset, answer);
    });
  }
}
