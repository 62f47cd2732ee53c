import { decodeEvent, encodeEvent } from '@espalier/avro';
import type { EventBodyMap, EventMap } from '@espalier/contracts';
import type { KafkaPort } from '@espalier/kafka';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { ManagerMetrics } from '../metrics/metrics.ts';
import { KafkaSandboxEvents } from './kafka-sandbox-events.ts';
import type { SandboxFact } from './sandbox-events.ts';

const fact: SandboxFact = {
  kind: 'ENDED',
  sandboxId: 's',
  runId: null,
  owner: 'r/t/0/r0/a1',
  image: 'python:3.11',
  isolation: 'bubblewrap',
  durationMs: 12.7,
  failure: { code: 'SANDBOX_LOST', message: 'm'.repeat(5_000), retryable: true },
};

/** A producer that keeps what it is given. */
function recorder(fail: boolean): { port: KafkaPort; sent: EventBodyMap['sandbox.reported'][] } {
  const sent: EventBodyMap['sandbox.reported'][] = [];
  const producer = {
    send: (_topic: string, body: EventBodyMap['sandbox.reported']) => {
      sent.push(body);
      return fail ? Promise.reject(new Error('no broker')) : Promise.resolve({ partition: 0, offset: 0, eventId: 'e' });
    },
  };
  return { port: { producer: () => producer } as unknown as KafkaPort, sent };
}

describe('KafkaSandboxEvents', () => {
  it('gives events that the schema takes, with bounded messages', () => {
    const { port, sent } = recorder(false);
    new KafkaSandboxEvents(port, new ManagerMetrics(), pino({ level: 'silent' })).report(fact);
    const event = {
      event_id: 'e',
      occurred_at: 1,
      producer: 'p',
      idempotency_key: null,
      ...sent[0],
    } as EventMap['sandbox.reported'];
    const decoded = decodeEvent('sandbox.reported', encodeEvent('sandbox.reported', event));
    expect(decoded).toMatchObject({
      sandbox_id: 's',
      kind: 'ENDED',
      owner: 'r/t/0/r0/a1',
      duration_ms: 13,
      failure: { class: 'INFRA', code: 'SANDBOX_LOST', retryable: true },
    });
    expect(decoded.failure?.message).toHaveLength(1_000);
  });

  it('counts what is lost and goes on', async () => {
    const { port } = recorder(true);
    const metrics = new ManagerMetrics();
    const events = new KafkaSandboxEvents(port, metrics, pino({ level: 'silent' }));
    events.report(fact);
    events.report(fact);
    await expect.poll(async () => (await metrics.eventsLost.get()).values[0]?.value).toBe(2);
  });
});
