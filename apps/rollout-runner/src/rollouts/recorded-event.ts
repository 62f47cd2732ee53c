import {
  trajectoryIdFor,
  type ObjectRef,
  type RolloutRequested,
  type RolloutTiming,
  type TrajectoryCounts,
  type TrajectoryRecordedBody,
} from '@espalier/contracts';
import type { RolloutOutcome } from './outcome.ts';

/** Who records. */
export interface Recorder {
  readonly workerId: string;
  readonly claimId: string;
  /** 0 when the work never got a grant. */
  readonly epoch: number;
}

/** What a rollout left behind. */
export interface RolloutRemains {
  readonly body: ObjectRef | null;
  readonly snapshot: ObjectRef | null;
  readonly counts: TrajectoryCounts;
  readonly policyVersionMin: number | null;
  readonly policyVersionMax: number | null;
  readonly timing: RolloutTiming;
  readonly exitCode: number | null;
  readonly configHash: string;
  readonly sandboxId: string | null;
  readonly isolation: string | null;
}

export const NO_COUNTS: TrajectoryCounts = {
  model_calls: 0,
  turns: 0,
  prompt_tokens: 0,
  sampled_tokens: 0,
  samples: 0,
  tool_calls: 0,
};

/** A rollout that never began. */
export const NOTHING: RolloutRemains = {
  body: null,
  snapshot: null,
  counts: NO_COUNTS,
  policyVersionMin: null,
  policyVersionMax: null,
  timing: { queue_ms: 0, sandbox_ms: 0, harness_ms: 0, model_ms: 0, snapshot_ms: 0 },
  exitCode: null,
  configHash: '',
  sandboxId: null,
  isolation: null,
};

/** The one terminal record of a claim. Sent twice it is the same event. */
export function recordedEvent(
  request: Pick<RolloutRequested, 'run_id' | 'group_id' | 'rollout_id' | 'attempt_id' | 'harness'>,
  { workerId, claimId, epoch }: Recorder,
  { status, stopReason, failure }: RolloutOutcome,
  remains: RolloutRemains,
): TrajectoryRecordedBody {
  return {
    run_id: request.run_id,
    idempotency_key: `${request.attempt_id}#${epoch}/recorded`,
    group_id: request.group_id,
    rollout_id: request.rollout_id,
    attempt_id: request.attempt_id,
    trajectory_id: trajectoryIdFor(request.attempt_id),
    worker_id: workerId,
    claim_id: claimId,
    epoch,
    status,
    stop_reason: stopReason,
    failure,
    body: remains.body,
    snapshot: remains.snapshot,
    counts: remains.counts,
    policy_version_min: remains.policyVersionMin,
    policy_version_max: remains.policyVersionMax,
    timing: remains.timing,
    harness: request.harness,
    harness_exit_code: remains.exitCode,
    config_hash: remains.configHash,
    sandbox_id: remains.sandboxId,
    isolation: remains.isolation,
  };
}
