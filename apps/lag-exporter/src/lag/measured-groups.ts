import { topics, topicNames, topicOf, type TopicName } from '@espalier/contracts';

/** A group's lag on a topic that is measured. */
export interface MeasuredGroup {
  readonly group: string;
  readonly topic: TopicName;
}

/**
 * Every consumer group of the catalogue with its topics. Heartbeats are left out: a processor reads them from wherever it starts
 * and commits nothing, so a lag of theirs means nothing.
 */
export const measuredGroups = (): MeasuredGroup[] =>
  topicNames.flatMap((topic) =>
    topics[topic].kind === 'heartbeat' ? [] : topics[topic].consumers.map(({ group }) => ({ group, topic })),
  );

/** The labels of one gauge, as KEDA and prometheus-adapter know them: group and topic as the broker has them. */
export const labelsOf = (
  prefix: string,
  { group, topic }: MeasuredGroup,
  partition: number,
): { group: string; topic: string; partition: string } => ({
  group: `${prefix}.${group}`,
  topic: topicOf(prefix, topic),
  partition: String(partition),
});
