import type { Failure, Reward, RewardStatus, ScoringRequested } from '@espalier/contracts';
import type { VerifierFailure, VerifierResult } from '@espalier/tasks';

/** What a scorer says about a trajectory. */
export interface Verdict {
  readonly status: Exclude<RewardStatus, 'UNKNOWN'>;
  /** Null unless it can be trusted. */
  readonly score: number | null;
  readonly failure: Failure | null;
  /** Details, as JSON in the reward. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Most bytes of details in an event. */
const DETAILS_BYTES = 16 * 1024;

/** No score for a reason of the plane's own. */
export function unscored(
  status: 'INFRA_ERROR' | 'TIMEOUT' | 'SKIPPED',
  code: string,
  message: string,
  retryable: boolean,
): Verdict {
  const failure: Failure = { class: 'INFRA', code, message: message.slice(0, 1_000), stage: 'verifier', retryable };
  return { status, score: null, failure, details: {} };
}

/**
 * The integrity gate: the submission changed files that steer the tests. A verdict on the policy, so it has a score, which is
 * 0, and counts.
 */
export function gated(files: readonly string[]): Verdict {
  const message = `the submission changes protected files: ${files.join(', ')}`.slice(0, 1_000);
  const failure: Failure = {
    class: 'SUSPECT',
    code: 'INTEGRITY_VIOLATION',
    message,
    stage: 'verifier',
    retryable: false,
  };
  return { status: 'GATED', score: 0, failure, details: { protected_files_changed: files } };
}

const asFailure = ({ class: failureClass, code, message, retryable }: VerifierFailure): Failure => ({
  class: failureClass,
  code,
  message: message.slice(0, 1_000),
  stage: 'verifier',
  retryable,
});

/**
 * Reads what the verifier of a task gave.
 *
 * A verifier that does not end is TIMEOUT with class INFRA and no score: whether the submission made it hang cannot be told
 * from the outside, and an infrastructure failure must never become a reward. A missing reward file is NO_REWARD_FILE,
 * infrastructure too, and may be tried again; reward files with other contents than a number are INVALID.
 */
export function verdictOf(result: VerifierResult, timeoutMs: number): Verdict {
  const run = result.run;
  const details = run === null ? {} : { exit_code: run.exitCode, duration_ms: run.durationMs };
  switch (result.status) {
    case 'SCORED':
      return { status: 'OK', score: result.score, failure: null, details: { ...details, rewards: result.rewards } };
    case 'TIMEOUT': {
      const message = `the verifier did not end within ${timeoutMs} ms`;
      return { ...unscored('TIMEOUT', 'VERIFIER_TIMEOUT', message, false), details };
    }
    case 'INVALID':
      if (result.failure.code === 'REWARD_FILE_MISSING') {
        return { ...unscored('INFRA_ERROR', 'NO_REWARD_FILE', result.failure.message, true), details };
      }
      return { status: 'INVALID', score: null, failure: asFailure(result.failure), details };
    case 'INFRA_ERROR':
      return { status: 'INFRA_ERROR', score: null, failure: asFailure(result.failure), details };
  }
}

/** The reward of a verdict. The group knows the weight and puts it in. */
export function rewardOf(
  request: Pick<ScoringRequested, 'scorer' | 'scorer_version' | 'required'>,
  { status, score, failure, details }: Verdict,
): Reward {
  const json = JSON.stringify(details);
  return {
    scorer: request.scorer,
    scorer_version: request.scorer_version,
    status,
    score,
    weight: 1,
    required: request.required,
    failure,
    details_json:
      Buffer.byteLength(json) <= DETAILS_BYTES ? json : JSON.stringify({ left_out: 'details are too large' }),
  };
}
