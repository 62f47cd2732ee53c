import type { TopicKind } from './catalogue-types.ts';
import { topics } from './generated/catalogue.ts';
import type { EventMap, TopicName } from './generated/maps.ts';

/** All topic names of the catalogue. */
export const topicNames: readonly TopicName[] = Object.keys(topics) as TopicName[];

/** Physical name of a topic: `<prefix>.<name>.v1`. */
export const topicOf = (prefix: string, name: TopicName): string => `${prefix}.${name}.v1`;

/** Physical name of the dead-letter topic of a consumer group. */
export const deadTopicOf = (prefix: string, name: TopicName, group: string): string =>
  `${topicOf(prefix, name)}.dead.${group}`;

/** Physical name of a retry topic of a consumer group. */
export const retryTopicOf = (prefix: string, name: TopicName, group: string, delayMs: number): string =>
  `${topicOf(prefix, name)}.retry.${group}.${delayMs}ms`;

/** Consumer group id on the broker. */
export const groupIdOf = (prefix: string, group: string): string => `${prefix}.${group}`;

/** The catalogue name of a physical topic, retry or dead-letter topic; undefined when it is none of this prefix. */
export function nameOfTopic(prefix: string, topic: string): TopicName | undefined {
  return topicNames.find((name) => topic === topicOf(prefix, name) || topic.startsWith(`${topicOf(prefix, name)}.`));
}

/** A topic that has to exist, with its kind. */
export interface PhysicalTopic {
  readonly topic: string;
  readonly name: TopicName;
  readonly kind: TopicKind;
}

/** Every physical topic of a deployment: catalogue topics, retry topics, dead-letter topics. */
export function physicalTopics(prefix: string): PhysicalTopic[] {
  return topicNames.flatMap((name) => {
    const entry = topics[name];
    return [
      { topic: topicOf(prefix, name), name, kind: entry.kind as TopicKind },
      ...entry.consumers.flatMap(({ group, retryDelaysMs }) => [
        ...retryDelaysMs.map((delay): PhysicalTopic => ({
          topic: retryTopicOf(prefix, name, group, delay),
          name,
          kind: 'retry',
        })),
        { topic: deadTopicOf(prefix, name, group), name, kind: 'dead' as const },
      ]),
    ];
  });
}

/** Thrown when an event lacks the field its topic is keyed by. */
export class EventKeyError extends Error {
  readonly code = 'EVENT_KEY_MISSING';
  readonly retryable = false;
  constructor(topic: TopicName, field: string) {
    super(`${topic}: the key field ${field} is missing or empty; set it before producing`);
  }
}

/** The record key of an event; null for topics whose key the producer chooses. Throws {@link EventKeyError}. */
export function keyOf<T extends TopicName>(topic: T, event: Partial<EventMap[T]>): string | null {
  const field = topics[topic].key;
  if (field === null) return null;
  const value = (event as Record<string, unknown>)[field];
  if (typeof value !== 'string' || value === '') throw new EventKeyError(topic, field);
  return value;
}
