import type { Reward } from '@espalier/contracts';

/** What {@link combineRewards} needs of a verdict: a `Reward` has it. */
export type CombinableReward = Pick<Reward, 'status' | 'score' | 'weight' | 'required'>;

/** How scorer verdicts become one reward. */
export interface CombineOptions {
  /** A trajectory passes when its combined reward is greater than this; 0 is the rule of the plane. */
  readonly passThreshold?: number;
}

/** The combined reward of a trajectory. Both fields are null together: an unscored trajectory neither passed nor failed. */
export interface CombinedReward {
  /** Weighted sum of the scores; null when a required scorer gave none, or when no scorer gave any. */
  readonly reward: number | null;
  /** Whether the reward is greater than the pass threshold. */
  readonly passed: boolean | null;
}

/** The contribution of one verdict: its score, 0 when gated, null when it cannot be trusted. */
export function trustedScore(reward: Pick<Reward, 'status' | 'score'>): number | null {
  switch (reward.status) {
    case 'OK':
      return reward.score !== null && Number.isFinite(reward.score) ? reward.score : null;
    case 'GATED':
      // The integrity gate is a verdict on the policy, not a failure to score: it counts, as nothing earned.
      return 0;
    case 'UNKNOWN':
    case 'INFRA_ERROR':
    case 'TIMEOUT':
    case 'INVALID':
    case 'SKIPPED':
      return null;
  }
}

/**
 * Combines the verdicts on one trajectory into its reward: the sum of weight x score.
 *
 * An infrastructure failure is never a reward: one required verdict without a trustworthy score makes the whole null. An
 * optional verdict without a score is left out. No verdict at all, or none with a score, is null too.
 */
export function combineRewards(rewards: readonly CombinableReward[], options: CombineOptions = {}): CombinedReward {
  const unscored: CombinedReward = { reward: null, passed: null };
  let sum = 0;
  let scored = 0;
  for (const reward of rewards) {
    const score = trustedScore(reward);
    if (score === null) {
      if (reward.required) return unscored;
      continue;
    }
    scored += 1;
    // A weight of 0 keeps a verdict as information only; 0 x score is 0, whatever the sign of the score.
    if (reward.weight !== 0) sum += reward.weight * score;
  }
  if (scored === 0 || !Number.isFinite(sum)) return unscored;
  return { reward: sum, passed: sum > (options.passThreshold ?? 0) };
}
