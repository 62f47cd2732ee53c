import { topicNames, topics, type TopicName } from '@espalier/contracts';
import type { KafkaPort } from '@espalier/kafka';
import type { ServiceLag } from '../run-view/render.ts';

const consumers: readonly { readonly group: string; readonly topic: TopicName }[] = topicNames.flatMap((topic) =>
  topics[topic].consumers.map(({ group }) => ({ group, topic })),
);

/** Data records that each consumer group of the catalogue has still to read, over all its topics. */
export async function serviceLags(kafka: KafkaPort): Promise<ServiceLag[]> {
  const lags = new Map<string, number>();
  for (const { group, topic } of consumers) {
    const partitions = await kafka.admin.dataLag(group, topic);
    // A group that never committed has not read this topic yet: its whole content would be counted.
    const known = partitions.filter(({ committed }) => committed !== null);
    const lag = known.reduce((sum, partition) => sum + partition.lag, 0);
    lags.set(group, (lags.get(group) ?? 0) + lag);
  }
  return [...lags].map(([group, lag]) => ({ group, lag }));
}
