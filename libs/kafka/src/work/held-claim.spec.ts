import type { RolloutRuled } from '@espalier/contracts';
import { describe, expect, it } from 'vitest';
import { type CancelledError, LeaseLostError, ReleasedError } from '../errors.ts';
import type { EventProducer } from '../port.ts';
import { ActiveClaim } from './held-claim.ts';

const sent: { topic: string; body: Record<string, unknown> }[] = [];
const producer: EventProducer = {
  send: (topic, body) => {
    sent.push({ topic, body: { ...body } });
    return Promise.resolve({ partition: 0, offset: 0, eventId: 'e' });
  },
  sendAll: () => Promise.resolve([]),
  sendRaw: () => Promise.resolve({ partition: 0, offset: 0, eventId: 'e' }),
  flush: () => Promise.resolve(),
};
const claim = (): ActiveClaim =>
  new ActiveClaim(
    { workId: 'w', groupId: 'g', attemptId: 'a', runId: 'r', claimId: 'mine', workerId: 'me', work: 'ROLLOUT' },
    producer,
  );
const ruling = (more: Partial<RolloutRuled>): RolloutRuled => ({
  event_id: 'e',
  occurred_at: 0,
  run_id: 'r',
  producer: 'p',
  idempotency_key: null,
  group_id: 'g',
  attempt_id: 'a',
  work: 'ROLLOUT',
  work_id: 'w',
  verdict: 'GRANTED',
  worker_id: 'me',
  claim_id: 'mine',
  epoch: 2,
  reason: null,
  model_log_from: null,
  ...more,
});

describe('a claim', () => {
  it('is granted by the ruling on itself alone', async () => {
    const mine = claim();
    mine.hear(ruling({ claim_id: 'other', epoch: 9 }));
    expect(mine.state).toBe('claiming');
    const answer = mine.answer(5_000);
    mine.hear(ruling({ model_log_from: 5 }));
    expect(await answer).toBe('granted');
    expect(mine).toMatchObject({ epoch: 2, modelLogFrom: 5, state: 'granted' });
    mine.hear(ruling({ epoch: 3 }));
    expect(mine.epoch).toBe(2);
  });

  it('hears an answer that came before it was waited for', async () => {
    const mine = claim();
    mine.hear(ruling({ verdict: 'DENIED', epoch: 0 }));
    expect(await mine.answer(5_000)).toBe('denied');
  });

  it.each([
    ['its work, whoever holds it', { claim_id: null, worker_id: null, epoch: 0 }, true],
    ['its own epoch', { epoch: 2 }, true],
    ['a later epoch of its work', { claim_id: null, worker_id: null, epoch: 3 }, true],
    ['an earlier epoch', { claim_id: null, worker_id: null, epoch: 1 }, false],
    ['another claim', { claim_id: 'other' }, false],
    ['another worker', { claim_id: null, worker_id: 'you' }, false],
  ])('when %s is cancelled', (_what, more, stops) => {
    const mine = claim();
    mine.hear(ruling({}));
    mine.hear(ruling({ verdict: 'CANCELLED', reason: 'GROUP_FULL', ...more }));
    expect(mine.signal.aborted).toBe(stops);
    if (stops) expect((mine.stopReason as CancelledError).reason).toBe('GROUP_FULL');
  });

  it('is lost when the group denies what it had granted', () => {
    const mine = claim();
    mine.hear(ruling({}));
    mine.hear(ruling({ verdict: 'DENIED', claim_id: 'other', worker_id: 'you', reason: 'HELD' }));
    expect(mine.signal.aborted).toBe(false);
    mine.hear(ruling({ verdict: 'DENIED', reason: 'LEASE_EXPIRED' }));
    expect(mine.stopReason).toBeInstanceOf(LeaseLostError);
  });

  it('keeps its first reason to stop, and hears nothing once ended', async () => {
    const mine = claim();
    mine.hear(ruling({}));
    await mine.release('DRAINING');
    mine.hear(ruling({ verdict: 'CANCELLED' }));
    expect(mine.stopReason).toBeInstanceOf(ReleasedError);
    mine.end();
    const ended = claim();
    ended.end();
    ended.hear(ruling({}));
    expect(ended.state).toBe('ended');
    expect(sent.at(-1)).toMatchObject({
      topic: 'rollout.reported',
      body: { kind: 'RELEASED', reason: 'DRAINING', epoch: 2 },
    });
  });
});
