import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { advantagesOf, estimatorNames, isEstimator, meanOf, stdOf, UnknownEstimatorError } from './index.ts';

const rewards = fc.array(fc.double({ min: -10, max: 10, noNaN: true }), { minLength: 1, maxLength: 16 });

describe('advantagesOf', () => {
  it('gives the published numbers for one success in four', () => {
    // mean 0.25, std (n - 1) 0.5
    expect(advantagesOf('grpo', [1, 0, 0, 0])).toEqual([
      0.75 / 0.500001,
      -0.25 / 0.500001,
      -0.25 / 0.500001,
      -0.25 / 0.500001,
    ]);
    const [first, second] = advantagesOf('rloo', [1, 0, 0, 0]);
    expect(first).toBeCloseTo(1, 12);
    expect(second).toBeCloseTo(-1 / 3, 12);
    expect(advantagesOf('reinforce', [1, 0, 0, 0])).toEqual([0.75, -0.25, -0.25, -0.25]);
  });

  it('sums to zero and keeps the order of the rewards, whichever the estimator', () => {
    fc.assert(
      fc.property(fc.constantFrom(...estimatorNames), rewards, (name, values) => {
        const advantages = advantagesOf(name, values);
        expect(advantages).toHaveLength(values.length);
        // GRPO divides by a spread that may be tiny: the sum is zero up to that scale.
        const scale = Math.max(1, ...advantages.map(Math.abs)) * 1e4;
        expect(Math.abs(advantages.reduce((sum, value) => sum + value, 0)) / scale).toBeLessThan(1e-9);
        for (const [i, a] of values.entries())
          for (const [j, b] of values.entries())
            if (a - b > 1e-9) expect(advantages[i] ?? 0).toBeGreaterThan(advantages[j] ?? 0);
      }),
    );
  });

  it('gives nobody an advantage where all rewards are equal', () => {
    for (const name of estimatorNames)
      for (const advantage of advantagesOf(name, [0.3, 0.3, 0.3])) expect(Math.abs(advantage)).toBeLessThan(1e-6);
    for (const name of estimatorNames) expect(advantagesOf(name, [1])).toEqual([0]);
    expect(advantagesOf('grpo', [])).toEqual([]);
  });

  it('refuses an unknown name and names the known ones', () => {
    expect(() => advantagesOf('ppo', [1, 0])).toThrowError(UnknownEstimatorError);
    expect(() => advantagesOf('ppo', [1, 0])).toThrowError(/"ppo" is not known.*grpo, rloo, reinforce/);
    expect(isEstimator('rloo')).toBe(true);
    expect(isEstimator('toString')).toBe(false);
  });

  it('refuses a reward that is not a number', () => {
    expect(() => advantagesOf('rloo', [1, Number.NaN])).toThrowError(
      expect.objectContaining({ code: 'ESTIMATOR_REWARD_NOT_FINITE' }),
    );
  });
});

describe('moments', () => {
  it('uses the sample standard deviation', () => {
    expect(meanOf([1, 2, 3, 4])).toBe(2.5);
    expect(stdOf([1, 2, 3, 4])).toBeCloseTo(1.2909944487358056, 12);
    expect(stdOf([5])).toBe(0);
  });
});
