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
    /** Called at each start of a harness, with the worker that started it. */
    let onHarness: ((worker: string) => void) | undefined;
    const consumer = session.kafka.broadcast({
      topics: ['rollout.ended', 'rollout.reported'],
      from: 'latest',
      handler: (event) => {
        if (event.topic === 'rollout.ended') seen += 1;
        else if (event.value.phase === 'harness') onHarness?.(event.value.worker_id);
      },
    });
    await consumer.start();
    // Work is in flight: attempts have ended since the last blow, and the run goes on.
    const goingOn = async (): Promise<void> => {
      const before = seen;
      await expect.poll(() => seen, { timeout: 3 * MINUTES, interval: 100 }).toBeGreaterThan(before + 5);
    };
    // A runner is struck while a harness of its own runs.
    const strike = async (victim: string, signal: NodeJS.Signals): Promise<void> => {
      await goingOn();
      if (victim.startsWith('rollout-runner'))
        await new Promise<void>((resolve) => {
          onHarness = (worker) => {
            if (!worker.startsWith(`${victim}.`)) return;
            onHarness = undefined;
            session.plane.kill(victim, signal);
            resolve();
          };
        });
      else expect(session.plane.kill(victim, signal)).toBe(true);
    };
    for (const victim of VICTIMS) {
      await strike(victim, 'SIGKILL');
      await session.plane.ready(victim);
    }
    for (const victim of ['trainer-gateway', 'rollout-runner']) {
      await strike(victim, 'SIGSTOP');
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
    const adopted = (await session.stored('rollout.requested')).filter((event) => event.kind === 'ADOPT').length;
    const replaced = (await session.stored('rollout.ended')).filter((event) => event.outcome === 'REPLACED').length;
    expect(adopted + replaced, 'nothing was in flight at any kill').toBeGreaterThan(0);
  },
  20 * MINUTES,
);
