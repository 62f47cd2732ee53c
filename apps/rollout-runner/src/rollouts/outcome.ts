import type { Failure, TrajectoryStatus } from '@espalier/contracts';
import type { BudgetStop } from '@espalier/gateway';
import type { Harness, HarnessExit } from '@espalier/harnesses';
import { failure } from './failures.ts';

/** How a rollout ended. */
export interface RolloutOutcome {
  readonly status: Exclude<TrajectoryStatus, 'UNKNOWN'>;
  readonly stopReason: string;
  readonly failure: Failure | null;
}

/** What is known when the harness has ended. */
export interface HarnessEnd {
  readonly harness: Harness;
  readonly exit: HarnessExit;
  /** Infrastructure failure that the gateway ended the rollout for. */
  readonly gatewayFailure: Failure | null;
  /** Budget that the gateway refused the last call for. */
  readonly budget: BudgetStop | null;
}

const BUDGETS: Record<BudgetStop, string> = {
  MODEL_CALLS: 'all model calls of the rollout are used',
  TOKENS: 'all tokens that the rollout may sample are used',
  CONTEXT: 'the conversation outgrew the context',
  WALL_CLOCK: 'the time of the rollout is over',
};

/** The rollout was ended by an infrastructure failure. */
export const failed = (cause: Failure): RolloutOutcome => ({
  status: 'FAILED',
  stopReason: cause.code,
  failure: cause,
});

/** The group does not want the rollout any more. */
export const cancelled = (reason: string): RolloutOutcome => ({
  status: 'CANCELLED',
  stopReason: 'CANCELLED',
  failure: failure('CONTROL', `CANCELLED_${reason}`, `the group cancelled the rollout: ${reason}`, 'harness', false),
});

/** A budget ended the rollout; what was sampled is whole. */
export const truncated = (stop: BudgetStop): RolloutOutcome => ({
  status: 'TRUNCATED',
  stopReason: stop,
  failure: failure('BUDGET', `BUDGET_${stop}`, BUDGETS[stop], 'harness', false),
});

/**
 * Reads the end of a harness. What the gateway knows comes first: a harness whose last call was refused ends in its own way
 * (a crash, an apology, exit code 0), and none of those is the cause.
 */
export function outcomeOf({ harness, exit, gatewayFailure, budget }: HarnessEnd): RolloutOutcome {
  if (gatewayFailure) return failed(gatewayFailure);
  if (exit.timedOut) return truncated('WALL_CLOCK');
  if (budget) return truncated(budget);
  return harness.outcome(exit);
}

/** Whether a workspace is worth scoring: the policy, or its budget, ended the rollout. */
export function isScorable({ status, failure: cause }: RolloutOutcome): boolean {
  switch (status) {
    case 'COMPLETED':
    case 'TRUNCATED':
      return true;
    case 'FAILED':
      return cause?.class === 'POLICY' || cause?.class === 'BUDGET';
    case 'CANCELLED':
      return false;
  }
}
