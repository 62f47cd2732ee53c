import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { silentLogger } from '../client/log.ts';
import { LeaseLostError } from '../errors.ts';
import type { EventProducer } from '../port.ts';
import { partitionFor } from '../produce/partitioner.ts';
import { Heartbeats } from './heartbeats.ts';
import { ActiveClaim } from './held-claim.ts';

const PARTITIONS = 4;
let sent: { partition: unknown; work: string[] }[] = [];
let broken = false;
const producer: EventProducer = {
  send: (topic, body, options) => {
    if (broken) return Promise.reject(new Error('no broker'));
    if (topic === 'rollout.alive' && 'work' in body && Array.isArray(body.work))
      sent.push({ partition: options?.partition, work: body.work.map(({ work_id: id }: { work_id: string }) => id) });
    return Promise.resolve({ partition: 0, offset: 0, eventId: 'e' });
  },
  sendAll: () => Promise.resolve([]),
  sendRaw: () => Promise.reject(new Error('unused')),
  flush: () => Promise.resolve(),
};

beforeEach(() => {
  vi.useFakeTimers();
  sent = [];
  broken = false;
});
afterEach(() => vi.useRealTimers());

function granted(workId: string, groupId: string): ActiveClaim {
  const claim = new ActiveClaim(
    { workId, groupId, attemptId: workId, runId: 'r', claimId: `c-${workId}`, workerId: 'me', work: 'ROLLOUT' },
    producer,
  );
  claim.state = 'granted';
  claim.epoch = 1;
  claim.renewedAt = Date.now();
  return claim;
}

function heartbeats(claims: ActiveClaim[]): Heartbeats {
  const settings = { workerId: 'me', partitions: PARTITIONS, aliveMs: 5_000, leaseMs: 15_000, logger: silentLogger };
  const made = new Heartbeats(producer, () => claims, settings);
  made.start();
  return made;
}

it('says alive once a beat for each group partition, and renews what it said', async () => {
  const groups = ['run/t/0', 'run/t/1', 'run/t/2', 'run/t/3', 'run/t/4'];
  const claims = groups.map((groupId, index) => granted(`w${index}`, groupId));
  const beating = heartbeats(claims);
  await vi.advanceTimersByTimeAsync(5_000);
  const expected = new Set(groups.map((groupId) => partitionFor(groupId, PARTITIONS)));
  expect(new Set(sent.map(({ partition }) => partition))).toEqual(expected);
  expect(sent).toHaveLength(expected.size);
  expect(sent.flatMap(({ work }) => work).sort()).toEqual(['w0', 'w1', 'w2', 'w3', 'w4']);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(claims.every(({ signal }) => !signal.aborted)).toBe(true);
  beating.stop();
});

it('gives up what it could not say alive for longer than the lease', async () => {
  const claim = granted('w', 'run/t/0');
  const beating = heartbeats([claim]);
  await vi.advanceTimersByTimeAsync(5_000);
  broken = true;
  await vi.advanceTimersByTimeAsync(14_000);
  expect(claim.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(claim.stopReason).toBeInstanceOf(LeaseLostError);
  beating.stop();
});

it('renews nothing after a freeze longer than the lease: somebody else has it by then', async () => {
  const claim = granted('w', 'run/t/0');
  const beating = heartbeats([claim]);
  vi.setSystemTime(Date.now() + 20_000);
  await beating.beat();
  expect(claim.stopReason).toBeInstanceOf(LeaseLostError);
  expect(sent).toEqual([]);
  beating.stop();
});
