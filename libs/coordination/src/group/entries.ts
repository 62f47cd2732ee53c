import type {
  AttemptOutcome,
  Failure,
  GroupOutcome,
  GroupSpec,
  HarnessConfig,
  ObjectRef,
  Reward,
  RolloutTiming,
  TaskSpec,
  TrajectoryCounts,
  TrajectoryStatus,
} from '@espalier/contracts';
import { parseId } from '@espalier/contracts';

/** What a group was opened with; written once. */
export type GroupFrozen = {
  readonly runId: string;
  readonly groupId: string;
  readonly admission: number;
  /** Milliseconds UTC. */
  readonly openedAt: number;
  readonly policyVersion: number;
  readonly task: TaskSpec;
  readonly spec: GroupSpec;
};

/** The changing part of a group; after the decision it stays as a marker. */
export type GroupHead = {
  readonly status: 'OPEN' | 'DECIDED';
  readonly runId: string;
  /** Rollouts (slots) launched. */
  readonly launched: number;
  /** Attempts replaced after failures. */
  readonly replaced: number;
  /** Trajectories scored so far; the next one's order. */
  readonly scored: number;
  readonly outcome: GroupOutcome | null;
};

/** The accepted terminal record of an attempt. */
export type RecordedTrajectory = {
  readonly status: TrajectoryStatus;
  readonly stopReason: string;
  readonly body: ObjectRef | null;
  readonly snapshot: ObjectRef | null;
  readonly counts: TrajectoryCounts;
  readonly policyVersionMin: number | null;
  readonly policyVersionMax: number | null;
  readonly timing: RolloutTiming;
  readonly configHash: string;
};

/** One scoring request of an attempt. */
export type ScoringState = {
  readonly workId: string;
  readonly round: number;
  readonly state: 'REQUESTED' | 'CLAIMED' | 'DONE';
  readonly epoch: number;
  readonly claimId: string | null;
  readonly deadlineAt: number;
  readonly reward: Reward | null;
};

export type AttemptState = 'REQUESTED' | 'CLAIMED' | 'RECORDED' | 'SCORED' | 'ENDED';

/** One attempt. Its scorings are keyed by `<scorer>@<version>`. */
export type AttemptEntry = {
  readonly attemptId: string;
  readonly rolloutId: string;
  readonly rolloutIndex: number;
  readonly attemptNo: number;
  readonly state: AttemptState;
  /** Last granted epoch; 0 before the first grant. */
  readonly epoch: number;
  readonly claimId: string | null;
  readonly workerId: string | null;
  readonly phase: string | null;
  readonly sandboxId: string | null;
  readonly modelLogFrom: number | null;
  readonly harness: HarnessConfig;
  readonly record: RecordedTrajectory | null;
  readonly scorings: Readonly<Record<string, ScoringState>>;
  readonly reward: number | null;
  readonly passed: boolean | null;
  /** Order in which the group's trajectories were scored. */
  readonly order: number;
  /** Last published revision of trajectory.scored; -1 before the first. */
  readonly revision: number;
  readonly outcome: AttemptOutcome | null;
  readonly failure: Failure | null;
};

export const frozenKey = (groupId: string): string => `group/${groupId}/frozen`;
export const headKey = (groupId: string): string => `group/${groupId}/head`;
export const attemptPrefix = (groupId: string): string => `group/${groupId}/attempt/`;

/** Key of an attempt; indices are padded so that key order is launch order. */
export function attemptKey(attemptId: string): string {
  const { groupId, rolloutIndex = 0, attemptNo = 0 } = parseId(attemptId);
  const pad = (value: number): string => String(value).padStart(4, '0');
  return `${attemptPrefix(groupId)}${pad(rolloutIndex)}/${pad(attemptNo)}`;
}

export const leaseTimer = (workId: string, epoch: number): string => `lease|${workId}|${epoch}`;
export const overdueTimer = (attemptId: string): string => `overdue|${attemptId}`;
export const deadlineTimer = (attemptId: string): string => `deadline|${attemptId}`;
export const scorerTimer = (workId: string): string => `scorer|${workId}`;
export const forgetTimer = (groupId: string): string => `forget|${groupId}`;
