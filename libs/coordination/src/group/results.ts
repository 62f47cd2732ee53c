import { trajectoryIdFor, type Failure, type RewardReported, type TrajectoryRecorded } from '@espalier/contracts';
import { replaceAttempt } from './attempts.ts';
import {
  attemptOf,
  clearAttemptTimers,
  endAttempt,
  isAbandoned,
  isWhole,
  rule,
  writeAttempt,
  type OpenGroup,
} from './context.ts';
import type { AttemptEntry } from './entries.ts';
import { endSpare, judge, shrinkWhenSettled } from './judgement.ts';
import { publishScored, requestScoringAgain, requestScorings, scoringOf, settleScoring } from './scoring.ts';

/** The one terminal record of a claim. A second one, or one of an old epoch, changes nothing. */
export function onRecorded(group: OpenGroup, event: TrajectoryRecorded): void {
  const attempt = attemptOf(group, event.attempt_id);
  const held =
    attempt &&
    (attempt.state === 'CLAIMED' ? attempt.epoch === event.epoch : attempt.state === 'REQUESTED' && event.epoch === 0);
  if (!attempt || !held) {
    rule(group.work, {
      work: 'ROLLOUT',
      workId: event.attempt_id,
      attemptId: event.attempt_id,
      verdict: 'CANCELLED',
      epoch: event.epoch,
      workerId: event.worker_id,
      claimId: event.claim_id,
      reason: attempt ? 'ENDED' : 'UNKNOWN_WORK',
    });
    return;
  }
  clearAttemptTimers(group, attempt);
  const recorded = writeAttempt(group, {
    ...attempt,
    state: 'RECORDED',
    failure: event.failure,
    record: {
      status: event.status,
      stopReason: event.stop_reason,
      body: event.body,
      snapshot: event.snapshot,
      counts: event.counts,
      policyVersionMin: event.policy_version_min,
      policyVersionMax: event.policy_version_max,
      timing: event.timing,
      configHash: event.config_hash,
    },
  });
  switch (event.status) {
    case 'COMPLETED':
    case 'TRUNCATED':
      requestScorings(group, recorded);
      break;
    case 'FAILED':
    case 'CANCELLED':
    case 'UNKNOWN':
      onFailed(group, recorded, event.failure ?? unexplained(event));
      break;
    default:
      event.status satisfies never;
  }
  judge(group);
}

function onFailed(group: OpenGroup, attempt: AttemptEntry, failure: Failure): void {
  switch (failure.class) {
    case 'POLICY':
    case 'BUDGET':
      // The policy's own doing: no new attempt, and no reward unless there is a workspace to score.
      if (attempt.record?.snapshot) requestScorings(group, attempt);
      else endAttempt(group, attempt, { outcome: 'FAILED', failure });
      return;
    case 'SUSPECT':
      endAttempt(group, attempt, { outcome: 'FAILED', failure });
      return;
    case 'INFRA':
    case 'CONTROL':
    case 'UNKNOWN':
      replaceAttempt(group, attempt, failure);
      return;
    default:
      failure.class satisfies never;
  }
}

const unexplained = (event: TrajectoryRecorded): Failure => ({
  class: 'INFRA',
  code: 'ATTEMPT_UNEXPLAINED',
  message: `recorded as ${event.status} without a failure`,
  stage: null,
  retryable: true,
});

/** A scorer's verdict. Infrastructure failures are tried again until the scorer's deadline. */
export function onReward(group: OpenGroup, event: RewardReported): void {
  const attempt = attemptOf(group, event.attempt_id);
  const found = attempt && scoringOf(attempt, event.work_id);
  if (!attempt || !found || trajectoryIdFor(attempt.attemptId) !== event.trajectory_id) return;
  const [key, scoring] = found;
  if (scoring.state === 'DONE' || isAbandoned(attempt)) return;
  if (event.epoch !== 0 && (scoring.state !== 'CLAIMED' || scoring.epoch !== event.epoch)) return;
  const { reward } = event;
  const again = reward.status === 'INFRA_ERROR' && (reward.failure?.retryable ?? false);
  if (again && reward.failure) loseScoring(group, attempt, key, reward.failure);
  else afterVerdict(group, settleScoring(group, attempt, key, reward));
}

/** A scoring lost its worker or its sandbox: asked for again, or settled without a score when its rounds are spent. */
export function loseScoring(group: OpenGroup, attempt: AttemptEntry, key: string, failure: Failure): void {
  const next = requestScoringAgain(group, attempt, key, failure);
  if (next.scorings[key]?.state === 'DONE') afterVerdict(group, next);
}

/** What follows a scorer's last word: publishes what it completed, ends spares, judges the group. */
export function afterVerdict(group: OpenGroup, attempt: AttemptEntry): void {
  publishScored(group, attempt);
  const current = attemptOf(group, attempt.attemptId);
  if (current) endSpare(group, current);
  judge(group);
  if (isWhole(group)) shrinkWhenSettled(group);
}
