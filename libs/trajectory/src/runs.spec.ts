import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expandMask, joinVersions, maskRuns, sliceVersions, versionedTokens } from './runs.ts';

describe('mask runs', () => {
  it('keep a mask exactly, beginning with a run of 0', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 60 }), (mask) => {
        const spans = mask.flatMap((on, at) => (on ? [{ from: at, to: at + 1 }] : []));
        const runs = maskRuns(spans, mask.length);
        expect([...expandMask(runs)]).toEqual(mask.map(Number));
        expect(runs.slice(1).every((length) => length > 0)).toBe(true);
      }),
    );
  });
});

describe('version runs', () => {
  const run = fc.record({ version: fc.integer({ min: 0, max: 3 }), length: fc.nat(5) });
  const expand = (runs: readonly { version: number; length: number }[]): number[] =>
    runs.flatMap(({ version, length }) => Array<number>(length).fill(version));

  it('are sliced and joined without loss', () => {
    fc.assert(
      fc.property(fc.array(run), fc.nat(30), fc.nat(30), (runs, left, right) => {
        const [from, to] = [Math.min(left, right), Math.max(left, right)];
        expect(expand(sliceVersions(runs, from, to))).toEqual(expand(runs).slice(from, to));
        const joined = joinVersions(runs);
        expect(expand(joined)).toEqual(expand(runs));
        expect(joined.every(({ version }, at) => version !== joined[at + 1]?.version)).toBe(true);
        expect(versionedTokens(joined)).toBe(expand(runs).length);
      }),
    );
  });
});
