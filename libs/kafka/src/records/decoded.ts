import { nameOfTopic, topicOf, topicNames, type EventMap, type TopicName } from '@espalier/contracts';
import { decodeEvent, DecodeError } from '@espalier/avro';
import type { ConsumedEvent, EventContext, RawRecord, StoredEvent } from '../port.ts';

const names = new Set<string>(topicNames);

/** The physical topic of a catalogue name; a physical topic stays as it is. */
export const physicalTopic = (prefix: string, topic: string): string =>
  names.has(topic) ? topicOf(prefix, topic as TopicName) : topic;

/** The catalogue name of a record's topic. Throws when it is none of this prefix: a programming error. */
export function topicNameOf(prefix: string, topic: string): TopicName {
  const name = nameOfTopic(prefix, topic);
  if (name === undefined) throw new TypeError(`${topic} is not a topic of prefix ${prefix}`);
  return name;
}

/** Where a record came from. */
export const contextOf = (topic: TopicName, record: RawRecord): EventContext => ({
  topic,
  partition: record.partition,
  offset: record.offset,
  key: record.key?.toString('utf8') ?? null,
  headers: record.headers,
  timestamp: record.timestamp,
});

/** Decodes a record of `topic`. Throws {@link DecodeError}. */
export function consumedEvent<T extends TopicName>(topic: T, record: RawRecord): ConsumedEvent<T> {
  if (record.value === null) throw new DecodeError('AVRO_EMPTY', `${topic}: the record has no value`);
  const value: EventMap[T] = decodeEvent(topic, record.value);
  return { topic, value, context: contextOf(topic, record) };
}

/** Decodes a record as far as it goes. */
export function storedEvent<T extends TopicName>(topic: T, record: RawRecord): StoredEvent<T> {
  const base = {
    topic,
    partition: record.partition,
    offset: record.offset,
    key: record.key?.toString('utf8') ?? null,
    headers: record.headers,
    timestamp: record.timestamp,
  };
  if (record.value === null) return { ...base, value: null, error: null };
  try {
    return { ...base, value: decodeEvent(topic, record.value), error: null };
  } catch (error) {
    if (error instanceof DecodeError) return { ...base, value: null, error };
    throw error;
  }
}
