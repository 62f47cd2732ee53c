import type { Failure, Reward, RewardReportedBody, RewardStatus, ScoringRequested } from '@espalier/contracts';

/** What this scorer says about a trajectory. */
export interface Verdict {
  readonly status: Exclude<RewardStatus, 'UNKNOWN' | 'GATED'>;
  /** In [0, 1]; null unless it can be trusted. Never 0 for want of an answer. */
  readonly score: number | null;
  readonly failure: Failure | null;
  readonly details: Readonly<Record<string, unknown>>;
}

/** No score. `SUSPECT` where the judge answered nonsense, `INFRA` where it did not answer, `CONTROL` where it was not asked. */
export function unscored(
  status: 'SKIPPED' | 'INVALID' | 'INFRA_ERROR' | 'TIMEOUT',
  code: string,
  message: string,
  retryable: boolean,
): Verdict {
  const failureClass = status === 'INVALID' ? 'SUSPECT' : status === 'SKIPPED' ? 'CONTROL' : 'INFRA';
  const failure: Failure = { class: failureClass, code, message: message.slice(0, 1_000), stage: 'judge', retryable };
  return { status, score: null, failure, details: {} };
}

const DETAILS_BYTES = 16 * 1024;

/** Which claim a verdict was made under; epoch 0 for one outside a claim. */
export interface ScorerIdentity {
  readonly workerId: string;
  readonly claimId: string;
  readonly epoch: number;
}

/** What of a request its answer repeats. */
export type AnsweredRequest = Pick<
  ScoringRequested,
  'run_id' | 'group_id' | 'attempt_id' | 'trajectory_id' | 'work_id' | 'scorer' | 'scorer_version' | 'required'
>;

/** The verdict's event. Sent twice it is the same event. */
export function rewardReported(
  request: AnsweredRequest,
  { workerId, claimId, epoch }: ScorerIdentity,
  verdict: Verdict,
  latencyMs: number,
): RewardReportedBody {
  const details = JSON.stringify(verdict.details);
  const reward: Reward = {
    scorer: request.scorer,
    scorer_version: request.scorer_version,
    status: verdict.status,
    score: verdict.score,
    // The group knows the weight and puts it in.
    weight: 1,
    required: request.required,
    failure: verdict.failure,
    details_json:
      Buffer.byteLength(details) <= DETAILS_BYTES ? details : JSON.stringify({ left_out: 'details are too large' }),
  };
  return {
    run_id: request.run_id,
    idempotency_key: `${request.work_id}#${epoch}/reward`,
    group_id: request.group_id,
    attempt_id: request.attempt_id,
    trajectory_id: request.trajectory_id,
    work_id: request.work_id,
    worker_id: workerId,
    claim_id: claimId,
    epoch,
    reward,
    latency_ms: Math.max(0, Math.round(latencyMs)),
    evidence: null,
  };
}
