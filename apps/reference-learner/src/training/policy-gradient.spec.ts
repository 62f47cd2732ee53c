import { describe, expect, it } from 'vitest';
import { AnswerWalk } from '../policy-model/answer-trie.ts';
import { choicesFor } from '../policy-model/choices.ts';
import { LogitTable } from '../policy-model/logit-table.ts';
import { play } from '../simulation/simulate.ts';
import { workshop } from '../simulation/workshop.ts';
import { maskedRanges, update, type GradientOptions, type GradientSample } from './policy-gradient.ts';

const options: GradientOptions = { learningRate: 0.5, clip: 0.2, temperature: 1 };
const [task] = workshop;
if (!task) throw new Error('no task');

const sampleOf = (seed: number, advantage: number, table = new LogitTable()): GradientSample => ({
  ...play(task, table, seed, `sample-${seed}`).sample,
  advantage,
});

/** Log-prob of all sampled tokens under a table. */
function logprobOf(sample: GradientSample, table: LogitTable): number {
  const tokens = [...sample.token_ids];
  let sum = 0;
  for (const { from, to } of maskedRanges(sample.mask_runs)) {
    const walk = new AnswerWalk(choicesFor(tokens.slice(0, from)));
    for (const token of tokens.slice(from, to)) {
      sum += walk.next(table).find((one) => one.token === token)?.logprob ?? Number.NaN;
      walk.say(token);
    }
  }
  return sum;
}

describe('update', () => {
  it('finds the log-probs at sampling again from the tokens alone', () => {
    const sample = sampleOf(1, 1);
    const recorded = sample.logprobs.reduce((sum, value) => sum + value, 0);
    expect(recorded).toBeLessThan(0);
    expect(logprobOf(sample, new LogitTable())).toBeCloseTo(recorded, 5);
  });

  it('equals the finite differences of the surrogate', () => {
    const table = new LogitTable();
    const sample = sampleOf(2, 0.7);
    update(table, [sample], { ...options, learningRate: 1 });
    const step = 1e-5;
    for (const [place, row] of Object.entries(table.toJSON()))
      for (const [token, gradient] of Object.entries(row)) {
        const shifted = (change: number): LogitTable => {
          const moved = new LogitTable();
          moved.add(place, Number(token), change);
          return moved;
        };
        const slope = (logprobOf(sample, shifted(step)) - logprobOf(sample, shifted(-step))) / (2 * step);
        // On policy the ratio is 1, so the surrogate's gradient is advantage times that of the log-prob.
        expect(gradient).toBeCloseTo(0.7 * slope, 4);
      }
  });

  it('makes what had an advantage likelier, what had a disadvantage less likely, and nothing else', () => {
    for (const advantage of [1.2, -1.2]) {
      const table = new LogitTable();
      const sample = sampleOf(3, advantage);
      const before = logprobOf(sample, table);
      const metrics = update(table, [sample], options);
      expect(Math.sign(logprobOf(sample, table) - before)).toBe(Math.sign(advantage));
      expect(metrics).toMatchObject({ samples: 1, clipped: 0, unexplained: 0 });
      expect(metrics.decisions).toBeGreaterThan(0);
    }
    const untouched = new LogitTable();
    update(untouched, [sampleOf(3, 0)], options);
    for (const row of Object.values(untouched.toJSON()))
      for (const logit of Object.values(row)) expect(Math.abs(logit)).toBe(0);
  });

  it('clips a ratio that has already gone far in the direction of its advantage', () => {
    const sample = sampleOf(4, 1);
    const ahead = new LogitTable();
    for (let times = 0; times < 8; times++) update(ahead, [sample], options);
    const frozen = JSON.stringify(ahead);
    expect(update(ahead, [sample], options).clipped).toBeGreaterThan(0);
    const decisions = update(ahead.copy(), [sample], options);
    if (decisions.clipped === decisions.decisions) expect(JSON.stringify(ahead)).toBe(frozen);
    const back = { ...sample, advantage: -1 };
    expect(update(ahead, [back], options).clipped).toBe(0);
  });

  it('gives no gradient to tokens that are not the policy’s, and says how many', () => {
    const sample = sampleOf(5, 1);
    const foreign = {
      ...sample,
      token_ids: sample.token_ids.map((token, at) => (at > sample.token_ids.length - 5 ? 65 : token)),
    };
    expect(update(new LogitTable(), [foreign], options).unexplained).toBeGreaterThan(0);
    const masked = { ...sample, mask_runs: [sample.token_ids.length] };
    expect(update(new LogitTable(), [masked], options)).toMatchObject({ tokens: 0, decisions: 0 });
  });
});

describe('maskedRanges', () => {
  it('reads alternating runs that begin with zeros', () => {
    expect(maskedRanges([3, 2, 1, 4])).toEqual([
      { from: 3, to: 5 },
      { from: 6, to: 10 },
    ]);
    expect(maskedRanges([0, 2])).toEqual([{ from: 0, to: 2 }]);
    expect(maskedRanges([])).toEqual([]);
  });
});
