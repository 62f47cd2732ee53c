import type { BatchSample } from '@espalier/contracts';
import { AnswerWalk } from '../policy-model/answer-trie.ts';
import { choicesFor } from '../policy-model/choices.ts';
import type { LogitTable } from '../policy-model/logit-table.ts';
import { SPECIAL } from '../policy-model/vocabulary.ts';

/** What the update reads of a sample. */
export type GradientSample = Pick<BatchSample, 'sample_id' | 'token_ids' | 'logprobs' | 'mask_runs' | 'advantage'>;

/** How to update. */
export interface GradientOptions {
  /** Step on the summed gradient. No division by tokens or trajectories: tasks share no logits. */
  readonly learningRate: number;
  /** PPO clip: a ratio beyond 1 +- clip in the direction of its advantage gives no gradient. */
  readonly clip: number;
  /** Temperature that the run samples with. */
  readonly temperature: number;
}

/** Values that take eight small tasks from one pass in four to nine in ten within some 500 rollouts (see the simulation). */
export const DEFAULT_GRADIENT: GradientOptions = { learningRate: 0.3, clip: 0.2, temperature: 1 };

/** What an update did. */
export interface UpdateMetrics {
  readonly samples: number;
  /** Masked-in tokens. */
  readonly tokens: number;
  /** Of these, where more than one token could follow. */
  readonly decisions: number;
  /** Decisions whose gradient was clipped. */
  readonly clipped: number;
  /** Masked-in tokens that are not this policy's to say; they give no gradient. */
  readonly unexplained: number;
  /** Mean of |log ratio| over decisions: how far off policy the batch was. */
  readonly off_policy: number;
  /** Mean clipped surrogate per decision. */
  readonly surrogate: number;
}

/** Ranges [from, to) of the masked-in tokens; mask runs alternate, beginning with a run of zeros. */
export function maskedRanges(maskRuns: readonly number[]): { from: number; to: number }[] {
  const ranges: { from: number; to: number }[] = [];
  let at = 0;
  for (const [index, length] of maskRuns.entries()) {
    if (index % 2 === 1 && length > 0) ranges.push({ from: at, to: at + length });
    at += length;
  }
  return ranges;
}

/**
 * One policy-gradient step on the table, in place: for every sampled token the clipped surrogate of PPO
 * (arXiv 1707.06347, equation 7) with the importance ratio against the log-prob recorded at sampling. The candidates at
 * each place are derived again from the sample's own prompt tokens by the policy's public rule.
 */
export function update(table: LogitTable, samples: readonly GradientSample[], options: GradientOptions): UpdateMetrics {
  const before = table.copy();
  const totals = { tokens: 0, decisions: 0, clipped: 0, unexplained: 0, off: 0, surrogate: 0 };
  for (const sample of samples) {
    const tokens = [...sample.token_ids];
    for (const { from, to } of maskedRanges(sample.mask_runs)) {
      totals.tokens += to - from;
      const opening = tokens.lastIndexOf(SPECIAL.assistant, from - 1);
      if (opening < 0) {
        totals.unexplained += to - from;
        continue;
      }
      const walk = new AnswerWalk(choicesFor(tokens.slice(0, opening + 1)));
      for (let at = opening + 1; at < to; at++) {
        const token = tokens[at] ?? -1;
        const continuations = walk.next(before, options.temperature);
        const now = continuations.find((one) => one.token === token)?.logprob;
        if (now === undefined) {
          totals.unexplained += to - Math.max(at, from);
          break;
        }
        if (at >= from && continuations.length > 1) {
          totals.decisions++;
          const logRatio = now - (sample.logprobs[at] ?? 0);
          const ratio = Math.exp(logRatio);
          const { advantage } = sample;
          const bounded = Math.min(Math.max(ratio, 1 - options.clip), 1 + options.clip);
          totals.off += Math.abs(logRatio);
          totals.surrogate += Math.min(ratio * advantage, bounded * advantage);
          if (bounded * advantage < ratio * advantage) totals.clipped++;
          else {
            const step = (options.learningRate * ratio * advantage) / options.temperature;
            for (const one of continuations)
              table.add(walk.place, one.token, step * ((one.token === token ? 1 : 0) - Math.exp(one.logprob)));
          }
        }
        walk.say(token);
      }
    }
  }
  const { tokens, decisions, clipped, unexplained } = totals;
  const mean = (sum: number): number => (decisions === 0 ? 0 : sum / decisions);
  return {
    samples: samples.length,
    tokens,
    decisions,
    clipped,
    unexplained,
    off_policy: mean(totals.off),
    surrogate: mean(totals.surrogate),
  };
}
