import type { ClusterConnection } from '../client/cluster.ts';
import { KafkaError, KafkaUnavailableError } from '../errors.ts';
import type { PartitionOffset } from '../port.ts';

const PATIENCE_MS = 20_000;

/** Runs `request` with recovery between attempts; gives up after about twenty seconds with `KAFKA_UNAVAILABLE`. */
export async function patiently<R>(connection: ClusterConnection, what: string, request: () => Promise<R>): Promise<R> {
  const until = Date.now() + PATIENCE_MS;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await request();
    } catch (error) {
      if (error instanceof KafkaError && !error.retryable) throw error;
      if (Date.now() > until) throw new KafkaUnavailableError(what, error);
      await new Promise((resolve) => setTimeout(resolve, Math.min(100 * 2 ** attempt, 1000)));
      await connection.recover(error);
    }
  }
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
