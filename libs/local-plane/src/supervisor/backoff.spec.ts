import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffDelay } from './backoff.ts';

describe('backoffDelay', () => {
  it('doubles from the first delay up to the cap', () => {
    const policy = { firstMs: 100, maxMs: 1_000, stableAfterMs: 1 };
    expect([1, 2, 3, 4, 5, 6].map((deaths) => backoffDelay(policy, deaths))).toEqual([
      100, 200, 400, 800, 1_000, 1_000,
    ]);
  });

  it('is never below the first delay, above the cap, or falling', () => {
    fc.assert(
      fc.property(
        fc.nat(1_000),
        fc.integer({ min: 1, max: 500 }),
        fc.integer({ min: 500, max: 60_000 }),
        (n, first, max) => {
          const policy = { firstMs: first, maxMs: max, stableAfterMs: 1 };
          const delay = backoffDelay(policy, n);
          expect(delay).toBeGreaterThanOrEqual(first);
          expect(delay).toBeLessThanOrEqual(max);
          expect(backoffDelay(policy, n + 1)).toBeGreaterThanOrEqual(delay);
        },
      ),
    );
  });
});
