import type { RankingDecided } from '@espalier/contracts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aucOf, bestOfN, eceOf, type Judged } from './quality.ts';
import { ReportBook } from './report.ts';

const judged = (value: number, passed: boolean): Judged => ({ value, passed });

describe('AUC', () => {
  it('equals the share of pairs put right, ties counting half', () => {
    const one = fc.record({ value: fc.integer({ min: 0, max: 5 }), passed: fc.boolean() });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 30 }), (all) => {
        const pairs = all
          .filter(({ passed }) => passed)
          .flatMap((good) => all.filter(({ passed }) => !passed).map((bad) => Math.sign(good.value - bad.value)));
        const expected = pairs.reduce<number>((sum, sign) => sum + (sign + 1) / 2, 0) / pairs.length;
        if (pairs.length === 0) expect(aucOf(all)).toBeNull();
        else expect(aucOf(all)).toBeCloseTo(expected, 10);
      }),
    );
  });
});

describe('ECE', () => {
  it('is 0 for a calibrated model and the gap for another', () => {
    const half = Array.from({ length: 100 }, (_, at) => judged(0.5, at % 2 === 0));
    expect(eceOf(half)).toBeCloseTo(0, 12);
    expect(eceOf(half.map(({ passed }) => judged(0.9, passed)))).toBeCloseTo(0.4, 12);
    expect(eceOf([])).toBeNull();
    expect(eceOf([judged(1, true), judged(0, false)])).toBe(0);
  });
});

describe('best of N', () => {
  it('lies between random and oracle for a perfect and a useless order', () => {
    const perfect = [judged(0.9, true), judged(0.2, false)];
    const useless = perfect.toReversed();
    const lost = [judged(0.5, false), judged(0.4, false)];
    expect(bestOfN([perfect, useless, lost])).toEqual({
      groups: 3,
      best_at_1: 1 / 3,
      best_at_2: 2 / 3,
      random: 1 / 3,
      oracle: 2 / 3,
    });
    expect(bestOfN([])).toMatchObject({ groups: 0, best_at_1: null });
  });
});

describe('report', () => {
  const ranking = (group: string, version: number, ranked: [number, boolean | null][]): RankingDecided =>
    ({
      group_id: group,
      model_version: version,
      ranked: ranked.map(([value, passed], at) => ({ trajectory_id: `${group}/${at}`, rank: at + 1, value, passed })),
    }) as RankingDecided;

  it('counts groups once, leaves unmodelled groups and unjudged members out', () => {
    const book = new ReportBook();
    book.add(ranking('a', 0, [[0.5, true]]));
    book.add(
      ranking('b', 1, [
        [0.2, true],
        [0.1, false],
      ]),
    );
    book.add(
      ranking('b', 2, [
        [0.9, true],
        [0.1, false],
        [0.05, null],
      ]),
    );
    book.add(
      ranking('c', 2, [
        [0.8, true],
        [0.7, true],
      ]),
    );
    const report = book.report();
    expect(report).toMatchObject({ model_version: 2, groups_without_model: 1, trajectories: 4, auc_within_groups: 1 });
    expect(report.all.groups).toBe(2);
    expect(report.mixed).toEqual({ groups: 1, best_at_1: 1, best_at_2: 1, random: 0.5, oracle: 1 });
  });
});
