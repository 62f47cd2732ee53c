import { keyOf, topicOf, type Rejection, type TopicName } from '@espalier/contracts';
import { encodeEvent } from '@espalier/avro';
import { deadLetter, idHeaders, type OutgoingRecord, type RawRecord } from '@espalier/kafka';
import type { TaskParts } from './parts.ts';

/** A record as a dead letter of the processor, to be stored in the transaction that passes it by. */
export function deadRecord(parts: TaskParts, topic: TopicName, record: RawRecord, error: unknown): OutgoingRecord {
  const { kafka, group } = parts;
  const { prefix, observer } = kafka.connection;
  const letter = deadLetter(prefix, topic, group, record, error);
  observer?.deadLettered?.(topic, group, letter.headers?.['x-error-code'] ?? '');
  return letter;
}

/** An event that was kept since it came, as a dead letter: encoded anew, its record is long behind. */
export const deadEvent = (parts: TaskParts, event: NonNullable<Rejection['event']>, error: unknown): OutgoingRecord =>
  deadRecord(
    parts,
    event.topic,
    {
      topic: topicOf(parts.kafka.connection.prefix, event.topic),
      partition: parts.partition,
      offset: -1,
      key: Buffer.from(keyOf(event.topic, event.value) ?? ''),
      value: encodeEvent(event.topic, event.value),
      headers: idHeaders(event.topic, event.value.event_id, { ...event.value }),
      timestamp: event.value.occurred_at,
    },
    error,
  );
