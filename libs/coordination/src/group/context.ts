import type { Failure, RulingVerdict, WorkKind } from '@espalier/contracts';
import { parseId, trajectoryIdFor } from '@espalier/contracts';
import type { Workspace } from '../state/workspace.ts';
import type { Timings } from '../timings.ts';
import {
  attemptKey,
  attemptPrefix,
  deadlineTimer,
  frozenKey,
  headKey,
  leaseTimer,
  overdueTimer,
  scorerTimer,
  type AttemptEntry,
  type GroupFrozen,
  type GroupHead,
} from './entries.ts';

/** An open group inside one decision. */
export interface OpenGroup {
  readonly work: Workspace;
  readonly timings: Timings;
  readonly frozen: GroupFrozen;
}

/** The group's frozen part, when the group is known and not yet reduced to its marker. */
export const findGroup = (work: Workspace, timings: Timings, groupId: string): OpenGroup | undefined => {
  const frozen = work.get<GroupFrozen>(frozenKey(groupId));
  return frozen && { work, timings, frozen };
};

export function headOf(group: OpenGroup): GroupHead {
  const head = group.work.get<GroupHead>(headKey(group.frozen.groupId));
  if (!head) throw new Error(`group ${group.frozen.groupId} has no head`);
  return head;
}

export const writeHead = (group: OpenGroup, change: Partial<GroupHead>): void =>
  group.work.put(headKey(group.frozen.groupId), 'group-head', { ...headOf(group), ...change });

export const attemptsOf = (group: OpenGroup): AttemptEntry[] =>
  [...group.work.scan<AttemptEntry>(attemptPrefix(group.frozen.groupId))].map(([, entry]) => entry);

export const attemptOf = (group: OpenGroup, attemptId: string): AttemptEntry | undefined =>
  group.work.get<AttemptEntry>(attemptKey(attemptId));

export function writeAttempt(group: OpenGroup, attempt: AttemptEntry): AttemptEntry {
  group.work.put(attemptKey(attempt.attemptId), 'attempt', attempt);
  return attempt;
}

/** A ruling: the answer to a claim, or to word about work that the group does not hold. */
export interface Ruling {
  readonly work: WorkKind;
  readonly workId: string;
  readonly attemptId: string;
  readonly verdict: RulingVerdict;
  readonly epoch?: number;
  readonly workerId?: string | null;
  readonly claimId?: string | null;
  readonly reason?: string;
  /** GRANTED: where the attempt's model log starts, for an adopter. */
  readonly modelLogFrom?: number | null;
}

export function rule(work: Workspace, ruling: Ruling): void {
  const { runId, groupId } = parseId(ruling.attemptId);
  work.emit('rollout.ruled', {
    run_id: runId,
    group_id: groupId,
    attempt_id: ruling.attemptId,
    work: ruling.work,
    work_id: ruling.workId,
    verdict: ruling.verdict,
    epoch: ruling.epoch ?? 0,
    worker_id: ruling.workerId ?? null,
    claim_id: ruling.claimId ?? null,
    reason: ruling.reason ?? null,
    model_log_from: ruling.modelLogFrom ?? null,
  });
}

/** How an attempt leaves the open class. */
export interface Ending {
  readonly outcome: NonNullable<AttemptEntry['outcome']>;
  readonly reason?: string;
  readonly failure?: Failure;
}

/** Ends an attempt once and for all, with its one rollout.ended; running work is told to stop. */
export function endAttempt(group: OpenGroup, attempt: AttemptEntry, ending: Ending): AttemptEntry {
  if (attempt.state === 'CLAIMED')
    rule(group.work, {
      work: 'ROLLOUT',
      workId: attempt.attemptId,
      attemptId: attempt.attemptId,
      verdict: 'CANCELLED',
      epoch: attempt.epoch,
      workerId: attempt.workerId,
      claimId: attempt.claimId,
      reason: ending.reason ?? ending.failure?.code ?? ending.outcome,
    });
  clearAttemptTimers(group, attempt);
  if (ending.outcome === 'REPLACED' || ending.outcome === 'FAILED' || ending.outcome === 'CANCELLED')
    stopScorings(group, attempt, ending.reason ?? ending.outcome);
  const ended = writeAttempt(group, {
    ...attempt,
    state: 'ENDED',
    outcome: ending.outcome,
    failure: ending.failure ?? attempt.failure,
  });
  group.work.emit('rollout.ended', {
    run_id: group.frozen.runId,
    group_id: group.frozen.groupId,
    rollout_id: attempt.rolloutId,
    attempt_id: attempt.attemptId,
    outcome: ending.outcome,
    reason: ending.reason ?? null,
    failure: ending.failure ?? null,
    reward: attempt.reward,
    trajectory_id: attempt.record ? trajectoryIdFor(attempt.attemptId) : null,
  });
  return ended;
}

/** Clears the timers of the attempt's run; those of its scorings stay while they go on. */
export function clearAttemptTimers(group: OpenGroup, attempt: AttemptEntry): void {
  if (attempt.epoch > 0) group.work.clearTimer(leaseTimer(attempt.attemptId, attempt.epoch));
  group.work.clearTimer(overdueTimer(attempt.attemptId));
  group.work.clearTimer(deadlineTimer(attempt.attemptId));
}

/** Stops every scoring of the attempt that still goes on. */
export function stopScorings(group: OpenGroup, attempt: AttemptEntry, reason: string): void {
  for (const scoring of Object.values(attempt.scorings)) {
    if (scoring.state === 'DONE') continue;
    group.work.clearTimer(scorerTimer(scoring.workId));
    group.work.clearTimer(leaseTimer(scoring.workId, scoring.epoch));
    if (scoring.state === 'CLAIMED')
      rule(group.work, {
        work: 'SCORING',
        workId: scoring.workId,
        attemptId: attempt.attemptId,
        verdict: 'CANCELLED',
        epoch: scoring.epoch,
        claimId: scoring.claimId,
        reason,
      });
  }
}

/** True while the attempt can still add a reward to its group. */
export const isOpen = (attempt: AttemptEntry): boolean =>
  attempt.state === 'REQUESTED' || attempt.state === 'CLAIMED' || attempt.state === 'RECORDED';

/** Ended in a way that no verdict matters for any more; its scorings were stopped. */
export const isAbandoned = (attempt: AttemptEntry): boolean =>
  attempt.outcome === 'REPLACED' || attempt.outcome === 'FAILED' || attempt.outcome === 'CANCELLED';

/** Whether the group is still more than its marker. */
export const isWhole = (group: OpenGroup): boolean =>
  group.work.get<GroupFrozen>(frozenKey(group.frozen.groupId)) !== undefined;
