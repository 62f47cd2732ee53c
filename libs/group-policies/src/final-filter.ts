import type { GroupConfig } from '@espalier/contracts';
import type { FilterReason, PoolMember } from './pool.ts';

/** Rewards whose sample standard deviation (n - 1) is not above this count as all equal. */
export const MIN_STD = 1e-6;

function sampleStd(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return Math.sqrt(squares / (values.length - 1));
}

/**
 * The final group filter, in the published order: nobody without a trustworthy reward, then spread, then a positive.
 * Returns null when the selection passes.
 */
export function finalFilter(
  config: Pick<GroupConfig, 'require_std' | 'require_positive'>,
  selected: readonly PoolMember[],
): FilterReason | null {
  const rewards: number[] = [];
  for (const { reward, status } of selected) {
    if (reward === null || status === 'CANCELLED') return 'TOO_FEW';
    rewards.push(reward);
  }
  if (config.require_std && !(sampleStd(rewards) > MIN_STD)) return 'ZERO_STD';
  if (config.require_positive && !rewards.some((reward) => reward > 0)) return 'NO_POSITIVE';
  return null;
}
