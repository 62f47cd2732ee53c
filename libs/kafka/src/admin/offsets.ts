import type { ClusterConnection } from '../client/cluster.ts';
import { KafkaError, KafkaUnavailableError } from '../errors.ts';
import type { PartitionOffset } from '../port.ts';

const ATTEMPTS = 6;

/** Runs `request` with recovery between attempts; gives up after about six seconds with `KAFKA_UNAVAILABLE`. */
export async function patiently<R>(connection: ClusterConnection, what: string, request: () => Promise<R>): Promise<R> {
  let last: unknown;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    try {
      return await request();
    } catch (error) {
      if (error instanceof KafkaError && !error.retryable) throw error;
      last = error;
      await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** attempt));
      await connection.recover(error);
    }
  }
  throw new KafkaUnavailableError(what, last);
}

/** Start offsets, or ends of committed data, of every partition of a topic, in partition order. */
export async function boundary(
  connection: ClusterConnection,
  topic: string,
  at: 'start' | 'end',
): Promise<PartitionOffset[]> {
  return patiently(connection, `offsets of ${topic}`, async () => {
    const cluster = await connection.cluster([topic]);
    const partitions = cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => ({ partition: partitionId }));
    const [found] = await cluster.fetchTopicsOffset([{ topic, partitions, fromBeginning: at === 'start' }]);
    return (found?.partitions ?? [])
      .map(({ partition, offset }) => ({ partition, offset: Number(offset) }))
      .sort((a, b) => a.partition - b.partition);
  });
}
