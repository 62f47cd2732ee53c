import { topicOf, type TopicName } from '@espalier/contracts';
import type { KafkaPort } from '@espalier/kafka';
import type { EventSource, PartitionBounds, RawRecord } from './event-source.ts';

/** The committed log of a deployment as an {@link EventSource}. The caller closes `kafka`. */
export function kafkaEventSource(kafka: KafkaPort): EventSource {
  const reader = kafka.reader();
  const { prefix } = kafka.connection;
  return {
    async bounds(topic: TopicName): Promise<readonly PartitionBounds[]> {
      const ends = await kafka.admin.endOffsets(topic);
      const starts = new Map(
        (await kafka.admin.startOffsets(topic)).map(({ partition, offset }) => [partition, offset]),
      );
      return ends.map(({ partition, offset }) => ({ partition, start: starts.get(partition) ?? 0, end: offset }));
    },
    async *read(topic: TopicName, partition: number, from: number, to: number): AsyncIterable<RawRecord> {
      for await (const record of reader.readRange(topicOf(prefix, topic), partition, from, to)) {
        const { offset, timestamp, key, headers, value } = record;
        yield { partition, offset, timestamp, key: key === null ? null : key.toString('utf8'), headers, value };
      }
    },
  };
}
