import { afterAll, beforeAll, expect, it } from 'vitest';
import { LoopSession } from './support/loop-session.ts';

const TASKS = [
  'log-level',
  'rate-limiter',
  'bank-overdraft',
  'thermostat',
  'moving-peak',
  'page-slice',
  'backup-rotation',
  'disk-alert',
];
const MINUTES = 60_000;

let session: LoopSession;
beforeAll(async () => {
  session = await LoopSession.start();
}, 3 * MINUTES);
afterAll(() => session.stop(), MINUTES);

it(
  'turns tasks into trained batches: the pass rate rises by learning from them, and everything is accounted for',
  async () => {
    await session.createRun('loop', TASKS, {
      batch: { size: 16, max_staleness: 1 },
      target: { pass_rate: 0.85, pass_rate_window: 96, rollouts: 1200 },
      max_attempts_in_flight: 24,
    });
    const ended = await session.ended('loop', 20 * MINUTES);
    expect(ended.state).toBe('COMPLETED');

    const scored = (await session.stored('trajectory.scored')).filter((event) => event.run_id === 'loop');
    scored.sort((a, b) => a.occurred_at - b.occurred_at);
    const rate = (events: typeof scored): number =>
      events.filter((event) => event.passed === true).length / events.length;
    expect(rate(scored.slice(0, 60))).toBeLessThan(0.4);
    // What was in flight when the target was met still counts afterwards.
    const met = (await session.stored('run.reported')).find(
      (event) => event.run_id === 'loop' && event.state === 'DRAINING',
    );
    expect(met?.message).toMatch(/^pass rate/);
    expect(met?.progress?.pass_rate).toBeGreaterThanOrEqual(0.85);
    expect(
      scored.every((event) => event.reward === null || event.rewards.some((reward) => reward.status === 'OK')),
    ).toBe(true);

    const audit = await session.cli('audit', 'loop', '--json');
    expect(audit.code, audit.stdout + audit.stderr).toBe(0);

    const shown = await session.ok('trajectories', 'show', scored[0]?.trajectory_id ?? '');
    expect(shown).toContain('bash');
  },
  21 * MINUTES,
);
