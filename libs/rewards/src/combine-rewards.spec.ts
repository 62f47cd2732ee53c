import type { RewardStatus } from '@espalier/contracts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { combineRewards, trustedScore, type CombinableReward } from './combine-rewards.ts';

const statuses: RewardStatus[] = ['UNKNOWN', 'OK', 'GATED', 'INFRA_ERROR', 'TIMEOUT', 'INVALID', 'SKIPPED'];
const score = fc.double({ min: -1, max: 1, noNaN: true });
const anyReward: fc.Arbitrary<CombinableReward> = fc.record({
  status: fc.constantFrom(...statuses),
  score: fc.option(score),
  weight: fc.double({ min: 0, max: 4, noNaN: true }),
  required: fc.boolean(),
});
const ok = (value: number, over: Partial<CombinableReward> = {}): CombinableReward => ({
  status: 'OK',
  score: value,
  weight: 1,
  required: true,
  ...over,
});

describe('combineRewards', () => {
  it('weighs and adds', () => {
    expect(combineRewards([ok(1), ok(0.5, { weight: 0.2 })])).toEqual({ reward: 1.1, passed: true });
  });

  it('passes only above the threshold', () => {
    expect(combineRewards([ok(0)])).toEqual({ reward: 0, passed: false });
    expect(combineRewards([ok(0.4)], { passThreshold: 0.5 })).toEqual({ reward: 0.4, passed: false });
  });

  it('counts a gated verdict as nothing earned, whatever score it carries', () => {
    expect(combineRewards([ok(1, { status: 'GATED' })])).toEqual({ reward: 0, passed: false });
  });

  it('gives no reward without verdicts', () => {
    expect(combineRewards([])).toEqual({ reward: null, passed: null });
    expect(combineRewards([ok(1, { status: 'TIMEOUT', required: false })])).toEqual({ reward: null, passed: null });
  });

  it('never turns a missing required score into a number', () => {
    fc.assert(
      fc.property(fc.array(anyReward), anyReward, (others, broken) => {
        fc.pre(trustedScore(broken) === null);
        const at = others.length >> 1;
        const rewards = [...others.slice(0, at), { ...broken, required: true }, ...others.slice(at)];
        expect(combineRewards(rewards)).toEqual({ reward: null, passed: null });
      }),
    );
  });

  it('ignores optional verdicts without a score', () => {
    fc.assert(
      fc.property(fc.array(anyReward), (rewards) => {
        const trusted = rewards.filter((reward) => trustedScore(reward) !== null || reward.required);
        expect(combineRewards(rewards)).toEqual(combineRewards(trusted));
      }),
    );
  });

  it('is null in both fields or in neither, and its number is finite', () => {
    fc.assert(
      fc.property(fc.array(anyReward), (rewards) => {
        const { reward, passed } = combineRewards(rewards);
        expect(reward === null).toBe(passed === null);
        if (reward !== null) expect(passed).toBe(reward > 0);
        expect(reward === null || Number.isFinite(reward)).toBe(true);
      }),
    );
  });

  it('refuses numbers that are none', () => {
    expect(combineRewards([ok(Number.NaN)])).toEqual({ reward: null, passed: null });
    expect(combineRewards([ok(1, { weight: Number.POSITIVE_INFINITY })])).toEqual({ reward: null, passed: null });
  });
});
