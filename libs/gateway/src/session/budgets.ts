import type { RolloutLimits } from '@espalier/contracts';
import { wireError, type WireError } from '../wire/openai-error.ts';

/** The budget that ended a rollout: its stop reason. */
export type BudgetStop = 'MODEL_CALLS' | 'TOKENS' | 'CONTEXT' | 'WALL_CLOCK';

/** What a rollout has used when a call arrives. */
export interface BudgetUse {
  /** Calls recorded or under way. */
  readonly modelCalls: number;
  readonly sampledTokens: number;
  /** Tokens of prompt and answer that the call builds on. */
  readonly knownTokens: number;
  /** Milliseconds UTC. */
  readonly now: number;
}

/** The budget that a further call would break; null if there is room. */
export function exhausted(limits: RolloutLimits, wallDeadline: number | null, use: BudgetUse): BudgetStop | null {
  if (wallDeadline !== null && use.now >= wallDeadline) return 'WALL_CLOCK';
  if (use.modelCalls >= limits.model_calls) return 'MODEL_CALLS';
  if (use.sampledTokens >= limits.sampled_tokens) return 'TOKENS';
  if (use.knownTokens >= limits.context_tokens) return 'CONTEXT';
  return null;
}

/** Most tokens the call may sample: the run's and the harness's limit, and what is left of the budgets. */
export function allowedTokens(
  limits: RolloutLimits,
  policyMax: number,
  asked: number | null,
  use: Pick<BudgetUse, 'sampledTokens' | 'knownTokens'>,
): number {
  const room = [policyMax, limits.sampled_tokens - use.sampledTokens, limits.context_tokens - use.knownTokens];
  return Math.max(1, Math.min(...room, ...(asked === null ? [] : [asked])));
}

/** The wire's answer to a call over budget: terminal for every harness, since none retries a 400. */
export function budgetError(stop: BudgetStop, limits: RolloutLimits): WireError {
  switch (stop) {
    case 'MODEL_CALLS':
      return wireError(
        400,
        'model_calls_exhausted',
        `this rollout may make ${limits.model_calls} model calls, all are used`,
      );
    case 'TOKENS':
      return wireError(
        400,
        'token_budget_exhausted',
        `this rollout may sample ${limits.sampled_tokens} tokens, all are used`,
      );
    case 'CONTEXT':
      return wireError(
        400,
        'context_length_exceeded',
        `This model's maximum context length is ${limits.context_tokens} tokens; the messages are longer.`,
      );
    case 'WALL_CLOCK':
      return wireError(400, 'wall_clock_exhausted', 'the time of this rollout is over');
  }
}
