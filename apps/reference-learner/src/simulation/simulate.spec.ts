import type { GroupConfig } from '@espalier/contracts';
import { describe, expect, it } from 'vitest';
import { DEFAULT_GRADIENT } from '../training/policy-gradient.ts';
import { passRateAt, simulate, type SimulationOptions } from './simulate.ts';
import { choicesOf, workshop } from './workshop.ts';

const group: GroupConfig = {
  size: 4,
  budget: 6,
  mode: 'PER_COMPLETION',
  stride: 6,
  rho_min: 0.25,
  rho_max: 0.75,
  relaxed: true,
  require_std: true,
  require_positive: true,
  max_replacements: 4,
};

const run = (seed: number, over: Partial<SimulationOptions> = {}) =>
  simulate({
    tasks: workshop,
    rollouts: 1_200,
    group,
    batch: 16,
    maxStaleness: 1,
    gradient: DEFAULT_GRADIENT,
    seed,
    ...over,
  });

const seeds = [1, 2, 3, 4, 5];
const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

describe('the reference learner', () => {
  it('has tasks whose first look offers at least four edits, of which few are right', () => {
    for (const task of workshop) expect(choicesOf(task)).toBeGreaterThanOrEqual(4);
  });

  it('takes the pass rate from under 35 % to over 85 % well within 1,200 rollouts', () => {
    const runs = seeds.map((seed) => run(seed));
    expect(mean(runs.map(({ passed }) => passRateAt(passed, 64, 64)))).toBeLessThan(0.35);
    for (const { passed } of runs) {
      const reached = passed.findIndex((_, at) => at >= 100 && passRateAt(passed, at, 100) > 0.85);
      expect(reached).toBeGreaterThan(0);
      expect(reached).toBeLessThan(900);
      expect(passRateAt(passed, 1_200, 200)).toBeGreaterThan(0.85);
    }
  });

  it('still does with batches trained two versions late', () => {
    expect(passRateAt(run(7, { maxStaleness: 2 }).passed, 1_200, 200)).toBeGreaterThan(0.85);
  });

  it('does not improve where nothing is learned', () => {
    const runs = seeds.map((seed) => run(seed, { control: 'off' }));
    for (const { table, batches } of runs) {
      expect(batches).toBeGreaterThan(10);
      expect(table.size).toBe(0);
    }
    expect(mean(runs.map(({ passed }) => passRateAt(passed, 1_200, 600)))).toBeLessThan(0.35);
  });

  it('does not improve where rewards are shuffled within the run', () => {
    const runs = seeds.map((seed) => run(seed, { control: 'shuffled' }));
    for (const { table } of runs) expect(table.size).toBeGreaterThan(0);
    const early = mean(runs.map(({ passed }) => passRateAt(passed, 200, 200)));
    const late = mean(runs.map(({ passed }) => passRateAt(passed, 1_200, 400)));
    expect(late).toBeLessThan(early + 0.15);
    expect(late).toBeLessThan(0.45);
  });

  it('is the same run for the same seed', () => {
    expect(run(3, { rollouts: 200 }).passed).toEqual(run(3, { rollouts: 200 }).passed);
    expect(run(3, { rollouts: 200 }).passed).not.toEqual(run(4, { rollouts: 200 }).passed);
  });
});
