import { randomUUID } from 'node:crypto';
import { keyOf, topicOf, type EventBodyMap, type EventMap, type TopicName } from '@espalier/contracts';
import { encodeEvent } from '@espalier/avro';
import type { OutgoingRecord, SendOptions } from '../port.ts';
import { derivedId } from './derived-id.ts';

/** Ids that also travel in headers, so that a body that does not decode can still be attributed. */
const ID_FIELDS = ['run_id', 'group_id', 'attempt_id', 'trajectory_id', 'work_id'] as const;

/** An event ready to produce. */
export interface StampedRecord extends OutgoingRecord {
  readonly eventId: string;
}

/**
 * Stamps the envelope and encodes. The id is `eventId`, else derived from the idempotency key, else random.
 * Throws `AVRO_ENCODE` or `EVENT_KEY_MISSING`.
 */
export function stampEvent<T extends TopicName>(
  prefix: string,
  producer: string,
  topic: T,
  body: EventBodyMap[T],
  options: SendOptions = {},
): StampedRecord {
  const fields = body as unknown as Readonly<Record<string, unknown>>;
  const idempotencyKey = fields['idempotency_key'];
  const eventId =
    options.eventId ??
    (typeof idempotencyKey === 'string' && idempotencyKey !== '' ? derivedId(topic, idempotencyKey) : randomUUID());
  const event = {
    ...fields,
    event_id: eventId,
    occurred_at: options.occurredAt ?? Date.now(),
    producer,
  };
  const key = options.key ?? keyOf(topic, event as unknown as Partial<EventMap[T]>);
  return {
    topic: topicOf(prefix, topic),
    key,
    value: encodeEvent(topic, event),
    headers: { ...idHeaders(topic, eventId, fields), ...options.headers },
    eventId,
    ...(options.partition === undefined ? {} : { partition: options.partition }),
  };
}

/** The headers that name an event and what it belongs to. */
export function idHeaders(
  topic: TopicName,
  eventId: string,
  fields: Readonly<Record<string, unknown>>,
): Record<string, string> {
  const headers: Record<string, string> = { 'x-event': topic, 'x-event-id': eventId };
  for (const field of ID_FIELDS) {
    const value = fields[field];
    if (typeof value === 'string') headers[`x-${field.replace('_', '-')}`] = value;
  }
  return headers;
}

/** Ids out of a record's headers. */
export function idsInHeaders(headers: Readonly<Record<string, string>>): {
  runId?: string;
  groupId?: string;
  attemptId?: string;
  trajectoryId?: string;
  workId?: string;
} {
  const pick = (name: string, as: string): Record<string, string> =>
    headers[name] === undefined ? {} : { [as]: headers[name] };
  return {
    ...pick('x-run-id', 'runId'),
    ...pick('x-group-id', 'groupId'),
    ...pick('x-attempt-id', 'attemptId'),
    ...pick('x-trajectory-id', 'trajectoryId'),
    ...pick('x-work-id', 'workId'),
  };
}
