import { READ_COMMITTED, type ClusterConnection } from '../client/cluster.ts';
import { dataRecords, type WirePartition } from '../records/fetched.ts';
import { patiently } from './offsets.ts';

/** Records counted one by one; of a longer range the rest is estimated. */
const COUNTED_RECORDS = 2_000;
const FETCH_BYTES = 4 * 1024 * 1024;

interface Counted {
  readonly from: number;
  readonly end: number;
  readonly lag: number;
  readonly exact: boolean;
}

/**
 * Counts data records between two offsets. Offsets alone overstate lag: transaction markers stay between a committed offset and
 * the end for ever, so an idle group would seem behind and be scaled out.
 */
export class DataLagMeter {
  readonly #connection: ClusterConnection;
  readonly #last = new Map<string, Counted>();

  constructor(connection: ClusterConnection) {
    this.#connection = connection;
  }

  /** Data records in `[from, end)`. `owner` keeps the results of different groups apart. */
  async count(
    owner: string,
    topic: string,
    partition: number,
    from: number,
    end: number,
  ): Promise<{ lag: number; exact: boolean }> {
    if (from >= end) return { lag: 0, exact: true };
    const key = `${owner}/${partition}`;
    const last = this.#last.get(key);
    if (last?.from === from && last.end === end) return last;
    const counted = await this.#read(topic, partition, from, end);
    this.#last.set(key, { from, end, ...counted });
    return counted;
  }

  async #read(topic: string, partition: number, from: number, end: number): Promise<{ lag: number; exact: boolean }> {
    let offset = from;
    let lag = 0;
    let empty = 0;
    while (offset < end && offset - from < COUNTED_RECORDS && empty < 3) {
      const answer = await this.#fetch(topic, partition, offset);
      if (answer === undefined) break;
      const fetched = dataRecords(topic, offset, answer);
      lag += fetched.records.filter((record) => record.offset < end).length;
      empty = fetched.nextOffset > offset ? 0 : empty + 1;
      offset = fetched.nextOffset;
    }
    if (offset >= end) return { lag, exact: true };
    const share = offset > from ? lag / (offset - from) : 1;
    return { lag: lag + Math.round((end - offset) * share), exact: false };
  }

  #fetch(topic: string, partition: number, offset: number): Promise<WirePartition | undefined> {
    return patiently(this.#connection, `counting records of ${topic}/${partition}`, async () => {
      const cluster = await this.#connection.cluster([topic]);
      const nodeId = this.#connection.leaderOf(topic, partition);
      if (nodeId === undefined) throw new Error(`${topic}/${partition} has no leader`);
      const broker = await cluster.findBroker({ nodeId });
      const response = (await broker.fetch({
        isolationLevel: READ_COMMITTED,
        maxWaitTime: 50,
        minBytes: 1,
        maxBytes: FETCH_BYTES,
        topics: [{ topic, partitions: [{ partition, fetchOffset: String(offset), maxBytes: FETCH_BYTES }] }],
        rackId: '',
      })) as { responses: { partitions: WirePartition[] }[] };
      return response.responses[0]?.partitions[0];
    });
  }
}
