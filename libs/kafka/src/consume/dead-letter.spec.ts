import { expect, it } from 'vitest';
import { KafkaConfigError, TerminalError } from '../errors.ts';
import type { RawRecord } from '../port.ts';
import { deadLetter, failureHeaders, retryDelays } from './dead-letter.ts';

const record: RawRecord = {
  topic: 'p.group.decided.v1',
  partition: 2,
  offset: 7,
  key: Buffer.from('k'),
  value: Buffer.from([1, 2, 3]),
  headers: { 'x-run-id': 'r', traceparent: '00-1' },
  timestamp: 5,
};

it('keeps bytes, key and headers, and says where the record came from and why it failed', () => {
  const letter = deadLetter('p', 'group.decided', 'value-reranker', record, new TerminalError('A_B', 'because'));
  expect(letter).toMatchObject({
    topic: 'p.group.decided.v1.dead.value-reranker',
    key: record.key,
    value: record.value,
  });
  expect(letter.headers).toMatchObject({
    'x-run-id': 'r',
    traceparent: '00-1',
    'x-original-topic': 'p.group.decided.v1',
    'x-original-partition': '2',
    'x-original-offset': '7',
    'x-original-timestamp': '5',
    'x-attempt': '1',
    'x-error-class': 'TerminalError',
    'x-error-code': 'A_B',
    'x-error-message': 'because',
  });
});

it('remembers the first place and time over several tries, and trims messages', () => {
  const once = failureHeaders(record, new Error('x'.repeat(5000)), 100);
  const twice = failureHeaders({ ...record, topic: 'p.retry', offset: 0, headers: once }, new Error('y'), 200);
  expect(once['x-error-message']).toHaveLength(500);
  expect(twice).toMatchObject({
    'x-original-topic': record.topic,
    'x-original-offset': '7',
    'x-attempt': '2',
    'x-first-failed-at': '100',
  });
});

it('refuses a group without a dead-letter topic', () => {
  expect(retryDelays('group.decided', 'value-reranker')).toEqual([5000, 60000]);
  expect(() => retryDelays('run.reported', 'somebody')).toThrow(KafkaConfigError);
});
