import { expect, it } from 'vitest';
import { redirectDue } from './redirect.ts';
import { subjectOf, takeNext, type WaitingRequest } from './requests.ts';

type Waiting = WaitingRequest<'rollout.requested'>;

const waiting = (
  name: string,
  more: Partial<{ kind: 'START' | 'ADOPT'; timestamp: number; since: number; hops: number }> = {},
): Waiting =>
  ({
    request: { kind: more.kind ?? 'START', group_id: 'run/t/0', attempt_id: name, run_id: null },
    record: { topic: 't', partition: 1, offset: 7, timestamp: more.timestamp ?? 0 },
    since: more.since ?? Date.now(),
    hops: more.hops ?? 0,
    redirecting: false,
  }) as unknown as Waiting;

it('takes adoptions first, then the oldest, and nothing that is being handed on', () => {
  const handed = waiting('handed', { timestamp: 0 });
  handed.redirecting = true;
  const list = [
    waiting('late', { timestamp: 9 }),
    handed,
    waiting('early', { timestamp: 1 }),
    waiting('adopt', { kind: 'ADOPT', timestamp: 99 }),
  ];
  const order = [takeNext(list), takeNext(list), takeNext(list), takeNext(list)].map(
    (next) => next?.request.attempt_id,
  );
  expect(order).toEqual(['adopt', 'early', 'late', undefined]);
});

it('hands on what waited too long, more patiently with each hop, and never to itself', () => {
  const since = Date.now() - 4_000;
  expect(redirectDue(waiting('a', { since }), 3_000, 2, 4)).toBe(true);
  expect(redirectDue(waiting('a', { since, hops: 1 }), 3_000, 2, 4)).toBe(false);
  expect(redirectDue(waiting('a', { since: Date.now() - 7_000, hops: 1 }), 3_000, 2, 4)).toBe(true);
  expect(redirectDue(waiting('a', { since: 0, hops: 60 }), 3_000, 2, 4)).toBe(true);
  expect(redirectDue(waiting('a', { since: 0 }), 3_000, 4, 4)).toBe(false);
});

it('derives one claim id from worker, work and record, and the run from the group', () => {
  const once = subjectOf(waiting('a'), 'me', 'ROLLOUT');
  expect(once).toMatchObject({ workId: 'a', runId: 'run', workerId: 'me' });
  expect(subjectOf(waiting('a'), 'me', 'ROLLOUT').claimId).toBe(once.claimId);
  expect(subjectOf(waiting('a'), 'you', 'ROLLOUT').claimId).not.toBe(once.claimId);
  expect(subjectOf(waiting('b'), 'me', 'ROLLOUT').claimId).not.toBe(once.claimId);
});
