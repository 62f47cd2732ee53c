import type { ModelCalledBody } from '@espalier/contracts';
import type { ModelCallRecord } from '@espalier/gateway';
import type { EventProducer } from '@espalier/kafka';
import { describe, expect, it } from 'vitest';
import { MemoryObjects } from '../testing/fake-plane.ts';
import { KafkaCallRecorder } from './kafka-call-recorder.ts';

class BrokerAway extends Error {
  constructor(readonly retryable: boolean) {
    super('away');
  }
}

const record = { occurred_at: 77, messages_json: '[]', call_id: 'c0' } as unknown as ModelCallRecord;
const arrays = {
  prompt_suffix_ids: new Int32Array(2),
  output_ids: new Int32Array(0),
  output_logprobs: new Float32Array(0),
};

function recorder(failing: Error[], patienceMs = 5_000) {
  const sent: { readonly body: ModelCalledBody; readonly occurredAt: number | undefined }[] = [];
  const firsts: number[] = [];
  const stop = new AbortController();
  const send = (_topic: string, body: ModelCalledBody, options?: { occurredAt?: number }) => {
    const error = failing.shift();
    if (error) return Promise.reject(error);
    sent.push({ body, occurredAt: options?.occurredAt });
    return Promise.resolve({ partition: 1, offset: 100 + sent.length, eventId: 'e' });
  };
  const made = new KafkaCallRecorder({
    producer: { send } as unknown as Pick<EventProducer, 'send'>,
    objects: new MemoryObjects(),
    runId: 'run',
    signal: stop.signal,
    patienceMs,
    onFirst: (offset) => firsts.push(offset),
  });
  return { made, sent, firsts, stop };
}

describe('KafkaCallRecorder', () => {
  it('sends again while the broker is away, as the same event, and tells the first offset once', async () => {
    const { made, sent, firsts } = recorder([new BrokerAway(true)]);
    await made.record({ ...record, ...arrays });
    await made.record({ ...record, ...arrays, call_id: 'c1' });
    expect(sent.map(({ body, occurredAt }) => [body.call_id, occurredAt])).toEqual([
      ['c0', 77],
      ['c1', 77],
    ]);
    expect(firsts).toEqual([101]);
  });

  it('gives up on errors that stay, when its patience ends, and when the claim is over', async () => {
    await expect(recorder([new BrokerAway(false)]).made.record({ ...record, ...arrays })).rejects.toThrow('away');
    await expect(recorder([new BrokerAway(true)], 0).made.record({ ...record, ...arrays })).rejects.toThrow('away');
    const { made, stop, sent } = recorder([]);
    stop.abort(new Error('lost'));
    await expect(made.record({ ...record, ...arrays })).rejects.toThrow('lost');
    expect(sent).toEqual([]);
  });
});
