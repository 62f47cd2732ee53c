import { afterAll, beforeAll, expect, it } from 'vitest';
import { LoopSession } from './support/loop-session.ts';

const MINUTES = 60_000;

let session: LoopSession;
beforeAll(async () => {
  session = await LoopSession.start({ replicas: { 'trainer-gateway': 2, 'rollout-runner': 2 } });
}, 3 * MINUTES);
afterAll(() => session.stop(), MINUTES);

/** Past the session (6 s) and the lease of both: who wakes up holds nothing any more, and must find that out. */
const FROZEN_MS = 20_000;

const VICTIMS = [
  'rollout-runner',
  'reward-scorer',
  'trainer-gateway',
  'trainer-gateway-2',
  'rollout-runner-2',
  'sandbox-manager',
  'reference-learner',
  'value-reranker',
  'prm-service',
  'lag-exporter',
  'kafka',
];

it(
  'accounts for every rollout when each service in turn, and the broker, is killed, and two are frozen, with work in flight',
  async () => {
    await session.createRun('kills', ['log-level', 'rate-limiter', 'bank-overdraft', 'backup-rotation'], {
      target: { rollouts: 320 },
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
    // Work is in flight: attempts have ended since the last blow, and the run goes on.
    const goingOn = async (): Promise<void> => {
      const before = seen;
      await expect.poll(() => seen, { timeout: 3 * MINUTES, interval: 100 }).toBeGreaterThan(before + 5);
    };
    for (const victim of VICTIMS) {
      await goingOn();
      expect(session.plane.kill(victim)).toBe(true);
      await session.plane.ready(victim);
    }
    for (const victim of ['trainer-gateway', 'rollout-runner']) {
      await goingOn();
      session.plane.kill(victim, 'SIGSTOP');
      await new Promise((resolve) => setTimeout(resolve, FROZEN_MS));
      session.plane.kill(victim, 'SIGCONT');
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
