import type { GroupConfig, TrajectoryStatus } from '@espalier/contracts';

/** One recorded rollout of a group, as a policy sees it. */
export interface PoolMember {
  readonly trajectoryId: string;
  /** Index of the rollout in its group: the order of submission. */
  readonly rolloutIndex: number;
  readonly status: TrajectoryStatus;
  /** Combined reward; null when it has none. */
  readonly reward: number | null;
  /** Tokens sampled by the policy. */
  readonly sampledTokens: number;
  /** Order in which scoring completed. Recorded only: choosing by it would favour short rollouts. */
  readonly order: number;
  /** The harness was ended by its wall clock. Such a member is used only to fill a best-effort group. */
  readonly timeExceeded?: boolean;
}

/** A group's pool at one moment. */
export interface PoolView {
  readonly config: GroupConfig;
  /** Members with a reward. */
  readonly scored: readonly PoolMember[];
  /** Members that ended for good without a reward; each spent one rollout of the budget. */
  readonly unscorable: readonly PoolMember[];
  /** Rollouts still running or being scored. */
  readonly open: number;
  /** Rollouts launched so far, of `config.budget`; a replaced attempt does not count twice. */
  readonly launched: number;
}

/** Why a group is dropped. */
export type FilterReason = 'ZERO_STD' | 'NO_POSITIVE' | 'INFEASIBLE' | 'TOO_FEW';

/** How an accepted group was chosen. */
export type Selection = 'EXACT' | 'RELAXED' | 'BEST_EFFORT';

/** What the group does next. */
export type GroupVerdict =
  | { readonly kind: 'WAIT' }
  | { readonly kind: 'LAUNCH'; readonly count: number }
  | {
      readonly kind: 'ACCEPT';
      readonly selection: Selection;
      /** `config.size` trajectory ids, positives first, each part in the order chosen. */
      readonly selected: string[];
    }
  | { readonly kind: 'FILTER'; readonly reason: FilterReason };
