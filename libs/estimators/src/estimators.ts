import { meanOf, stdOf } from './moments.ts';

/** Added to the standard deviation by {@link grpo}; the value slime and TRL use. */
export const GRPO_EPSILON = 1e-6;

/** Group-relative advantages of one group's rewards, in the same order. */
export type Estimator = (rewards: readonly number[]) => number[];

/**
 * GRPO (DeepSeekMath, arXiv 2402.03300, section 4.1.2, outcome supervision): `(r - mean) / (std + 1e-6)`, with the
 * sample standard deviation (n - 1) as the slime fork of Orchard computes it.
 */
export const grpo: Estimator = (rewards) => {
  const mean = meanOf(rewards);
  const scale = stdOf(rewards) + GRPO_EPSILON;
  return rewards.map((reward) => (reward - mean) / scale);
};

/**
 * REINFORCE leave-one-out (Ahmadian et al., arXiv 2402.14740, equation 7): each reward against the mean of the others,
 * `r_i - (sum - r_i) / (n - 1)`. A single member has no others: its advantage is 0.
 */
export const rloo: Estimator = (rewards) => {
  if (rewards.length < 2) return rewards.map(() => 0);
  const sum = rewards.reduce((total, reward) => total + reward, 0);
  return rewards.map((reward) => reward - (sum - reward) / (rewards.length - 1));
};

/** REINFORCE with the group mean as baseline and no scaling: `r - mean` (as Dr. GRPO, arXiv 2503.20783). */
export const reinforce: Estimator = (rewards) => {
  const mean = meanOf(rewards);
  return rewards.map((reward) => reward - mean);
};

const known = new Map<string, Estimator>([
  ['grpo', grpo],
  ['rloo', rloo],
  ['reinforce', reinforce],
]);

/** Names that {@link advantagesOf} knows. */
export const estimatorNames: readonly string[] = [...known.keys()];

/** A name that no estimator has. */
export class UnknownEstimatorError extends Error {
  readonly code = 'ESTIMATOR_UNKNOWN';
  readonly retryable = false;
  constructor(name: string) {
    super(`estimator "${name}" is not known; use one of ${estimatorNames.join(', ')}`);
  }
}

/** A reward that is not a finite number. */
export class RewardNotFiniteError extends Error {
  readonly code = 'ESTIMATOR_REWARD_NOT_FINITE';
  readonly retryable = false;
  constructor(index: number, reward: number) {
    super(`reward ${index} of the group is ${reward}; leave members without a reward out of the group`);
  }
}

export const isEstimator = (name: string): boolean => known.has(name);

/**
 * Advantages of a group's rewards, same order. Throws {@link UnknownEstimatorError}, {@link RewardNotFiniteError}.
 */
export function advantagesOf(estimator: string, rewards: readonly number[]): number[] {
  const estimate = known.get(estimator);
  if (!estimate) throw new UnknownEstimatorError(estimator);
  const bad = rewards.findIndex((reward) => !Number.isFinite(reward));
  if (bad >= 0) throw new RewardNotFiniteError(bad, rewards[bad] ?? Number.NaN);
  return rewards.length === 0 ? [] : estimate(rewards);
}
