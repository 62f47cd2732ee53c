import { afterAll, beforeAll, expect, it } from 'vitest';
import { LoopSession } from './support/loop-session.ts';

const MINUTES = 60_000;

let session: LoopSession;
beforeAll(async () => {
  session = await LoopSession.start();
}, 3 * MINUTES);
afterAll(() => session.stop(), MINUTES);

const VICTIMS = [
  'rollout-runner',
  'reward-scorer',
  'trainer-gateway',
  'sandbox-manager',
  'reference-learner',
  'value-reranker',
  'prm-service',
  'lag-exporter',
  'kafka',
];

it(
  'accounts for every rollout when each service in turn, and the broker, is killed with work in flight',
  async () => {
    await session.createRun('kills', ['log-level', 'rate-limiter', 'bank-overdraft', 'backup-rotation'], {
      target: { rollouts: 260 },
      breaker: { window: 50, min_attempts: 50, max_infra_share: 1 },
    });
    let seen = 0;
    const consumer = session.kafka.broadcast({
      topics: ['rollout.ended'],
      from: 'earliest',
      handler: () => {
        seen += 1;
      },
    });
    await consumer.start();
    for (const victim of VICTIMS) {
      // Work is in flight: attempts ended since the last kill, and the run goes on.
      const before = seen;
      await expect.poll(() => seen, { timeout: 3 * MINUTES, interval: 100 }).toBeGreaterThan(before + 5);
      expect(session.plane.kill(victim)).toBe(true);
      await session.plane.ready(victim);
    }
    const ended = await session.ended('kills', 10 * MINUTES);
    expect(ended.state).toBe('COMPLETED');
    await consumer.stop();

    const audit = await session.cli('audit', 'kills', '--json');
    expect(audit.code, audit.stdout + audit.stderr).toBe(0);
    expect(ended.progress?.batches_trained).toBeGreaterThan(0);
  },
  20 * MINUTES,
);
