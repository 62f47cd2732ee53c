import { expect, it } from 'vitest';
import { LoopSession } from './support/loop-session.ts';

const MINUTES = 60_000;
/** Enough for a policy that learns to be far above this: the loop passes 50 % before its 250th rollout. */
const ROLLOUTS = 300;

it.each(['off', 'shuffled'])(
  'the pass rate does not rise with learning %s: what raises it is the reward in the batches',
  async (control) => {
    const session = await LoopSession.start({ serviceEnv: { 'reference-learner': { ESPALIER_CONTROL: control } } });
    try {
      await session.createRun(
        'control',
        [
          'log-level',
          'rate-limiter',
          'bank-overdraft',
          'thermostat',
          'moving-peak',
          'page-slice',
          'backup-rotation',
          'disk-alert',
        ],
        { batch: { size: 16, max_staleness: 1 }, target: { rollouts: ROLLOUTS }, max_attempts_in_flight: 24 },
      );
      const ended = await session.ended('control', 12 * MINUTES);
      expect(ended.state).toBe('COMPLETED');
      expect(ended.progress?.batches_trained).toBeGreaterThan(4);
      expect(ended.progress?.pass_rate).toBeLessThan(0.45);
    } finally {
      await session.stop();
    }
  },
  16 * MINUTES,
);
