import type { ObjectRef, Reward, RewardReportedBody, ScoringRequested } from '@espalier/contracts';

/** Who scored. */
export interface ScorerIdentity {
  readonly workerId: string;
  readonly claimId: string;
  /** 0 for verdicts outside a claim. */
  readonly epoch: number;
}

/** The scorer's one terminal event for a request. Sent twice it is the same event. */
export function rewardReported(
  request: Pick<ScoringRequested, 'run_id' | 'group_id' | 'attempt_id' | 'trajectory_id' | 'work_id'>,
  { workerId, claimId, epoch }: ScorerIdentity,
  reward: Reward,
  { latencyMs, evidence }: { readonly latencyMs: number; readonly evidence: ObjectRef | null },
): RewardReportedBody {
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
    evidence,
  };
}
