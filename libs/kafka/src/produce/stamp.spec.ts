import { EventKeyError } from '@espalier/contracts';
import { decodeEvent, EncodeError } from '@espalier/avro';
import { expect, it } from 'vitest';
import { idsInHeaders, stampEvent } from './stamp.ts';

const body = { run_id: 'r', group_id: 'r/t/0', command: 'CANCEL' as const, reason: 'x' };

it('stamps the envelope, keys by the catalogue, and repeats the ids in headers', () => {
  const record = stampEvent('p', 'me', 'group.commanded', body, { occurredAt: 5 });
  expect(record).toMatchObject({ topic: 'p.group.commanded.v1', key: 'r/t/0' });
  const event = decodeEvent('group.commanded', record.value ?? Buffer.alloc(0));
  expect(event).toMatchObject({ ...body, occurred_at: 5, producer: 'me', event_id: record.eventId });
  expect(idsInHeaders(record.headers ?? {})).toEqual({ runId: 'r', groupId: 'r/t/0' });
});

it('derives the id from an idempotency key, and takes a given one', () => {
  const of = (key?: string, eventId?: string): string =>
    stampEvent(
      'p',
      'me',
      'group.commanded',
      { ...body, idempotency_key: key ?? null },
      eventId === undefined ? {} : { eventId },
    ).eventId;
  expect(of('k')).toBe(of('k'));
  expect(of('k')).not.toBe(of('l'));
  expect(of()).not.toBe(of());
  expect(of('k', 'given')).toBe('given');
});

it('refuses what has no key or does not fit', () => {
  expect(() => stampEvent('p', 'me', 'group.commanded', { ...body, group_id: '' })).toThrow(EventKeyError);
  expect(() => stampEvent('p', 'me', 'group.commanded', { ...body, reason: 5 as unknown as string })).toThrow(
    EncodeError,
  );
});
