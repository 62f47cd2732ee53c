import { workerLost } from './failures.ts';
import type { RolloutReported, RulingVerdict } from '@espalier/contracts';
import { claimLost } from './attempts.ts';
import { attemptOf, rule, writeAttempt, type OpenGroup } from './context.ts';
import { leaseTimer, overdueTimer, type AttemptEntry, type ScoringState } from './entries.ts';
import { judge } from './judgement.ts';
import { loseScoring } from './results.ts';
import { scoringOf, writeScoring } from './scoring.ts';

/** A worker's word on work that it holds or wants. */
export function onReported(group: OpenGroup, report: RolloutReported): void {
  const attempt = attemptOf(group, report.attempt_id);
  if (!attempt) {
    refuse(group, report, 'UNKNOWN_WORK');
    return;
  }
  switch (report.work) {
    case 'ROLLOUT':
      onRollout(group, attempt, report);
      return;
    case 'SCORING':
      onScoring(group, attempt, report);
      return;
    case 'UNKNOWN':
      refuse(group, report, 'UNKNOWN_WORK');
      return;
    default:
      report.work satisfies never;
  }
}

/** The answer to word about work that is not (or no longer) the sender's. */
export function refuse(
  group: Pick<OpenGroup, 'work'>,
  report: RolloutReported,
  reason: string,
  verdict: RulingVerdict = report.kind === 'CLAIMED' ? 'DENIED' : 'CANCELLED',
): void {
  rule(group.work, {
    work: report.work,
    workId: report.work_id,
    attemptId: report.attempt_id,
    verdict,
    epoch: report.epoch,
    workerId: report.worker_id,
    claimId: report.claim_id,
    reason,
  });
}

function grant(group: OpenGroup, report: RolloutReported, epoch: number, modelLogFrom: number | null = null): void {
  rule(group.work, {
    work: report.work,
    workId: report.work_id,
    attemptId: report.attempt_id,
    verdict: 'GRANTED',
    epoch,
    workerId: report.worker_id,
    claimId: report.claim_id,
    modelLogFrom,
  });
}

/** A worker that gives a claim back before it has heard the grant says epoch 0. */
const releases = (report: RolloutReported, epoch: number): boolean => report.epoch === 0 || report.epoch === epoch;

function onRollout(group: OpenGroup, attempt: AttemptEntry, report: RolloutReported): void {
  const holds = attempt.state === 'CLAIMED' && attempt.claimId === report.claim_id;
  switch (report.kind) {
    case 'CLAIMED':
      if (holds) grant(group, report, attempt.epoch, attempt.modelLogFrom);
      else if (attempt.state === 'REQUESTED') claimRollout(group, attempt, report);
      else refuse(group, report, attempt.state === 'CLAIMED' ? 'HELD' : 'ENDED');
      return;
    case 'PHASE':
    case 'ADOPTED':
      if (!holds || attempt.epoch !== report.epoch) {
        // To a worker that lost the work to another, a denial: it must leave the sandbox to its adopter.
        if (attempt.state === 'ENDED') refuse(group, report, 'ENDED');
        else refuse(group, report, 'NOT_HELD', 'DENIED');
        return;
      }
      writeAttempt(group, {
        ...attempt,
        phase: report.phase ?? attempt.phase,
        sandboxId: report.sandbox_id ?? attempt.sandboxId,
        modelLogFrom: report.model_log_from ?? attempt.modelLogFrom,
      });
      return;
    case 'RELEASED':
      if (!holds || !releases(report, attempt.epoch)) return;
      claimLost(group, attempt, {
        class: 'CONTROL',
        code: 'PREEMPTED',
        message: `the runner gave the attempt back: ${report.reason ?? 'draining'}`,
        stage: attempt.phase,
        retryable: true,
      });
      judge(group);
      return;
    case 'UNKNOWN':
      refuse(group, report, 'UNKNOWN_REPORT');
      return;
    default:
      report.kind satisfies never;
  }
}

function claimRollout(group: OpenGroup, attempt: AttemptEntry, report: RolloutReported): void {
  const epoch = attempt.epoch + 1;
  const { limits } = group.frozen.spec;
  const { task } = group.frozen;
  const wall = Math.min(limits.wall_ms, task.agent_timeout_ms ?? limits.wall_ms);
  writeAttempt(group, {
    ...attempt,
    state: 'CLAIMED',
    epoch,
    claimId: report.claim_id,
    workerId: report.worker_id,
  });
  group.work.setTimer(leaseTimer(attempt.attemptId, epoch), group.work.now + group.timings.leaseMs);
  group.work.setTimer(
    overdueTimer(attempt.attemptId),
    group.work.now + limits.setup_ms + wall + group.timings.overdueSlackMs,
  );
  grant(group, report, epoch, attempt.modelLogFrom);
}

function onScoring(group: OpenGroup, attempt: AttemptEntry, report: RolloutReported): void {
  const found = scoringOf(attempt, report.work_id);
  if (!found) {
    refuse(group, report, 'ENDED');
    return;
  }
  const [key, scoring] = found;
  const holds = scoring.state === 'CLAIMED' && scoring.claimId === report.claim_id;
  switch (report.kind) {
    case 'CLAIMED':
      if (holds) grant(group, report, scoring.epoch);
      else if (scoring.state === 'REQUESTED') claimScoring(group, attempt, key, scoring, report);
      else refuse(group, report, scoring.state === 'CLAIMED' ? 'HELD' : 'ENDED');
      return;
    case 'PHASE':
    case 'ADOPTED':
      if (!holds || scoring.epoch !== report.epoch) refuse(group, report, 'NOT_HELD');
      return;
    case 'RELEASED':
      if (holds && releases(report, scoring.epoch))
        loseScoring(
          group,
          attempt,
          key,
          workerLost('SCORER_RELEASED', `the scorer gave it back: ${report.reason ?? 'draining'}`),
        );
      return;
    case 'UNKNOWN':
      refuse(group, report, 'UNKNOWN_REPORT');
      return;
    default:
      report.kind satisfies never;
  }
}

function claimScoring(
  group: OpenGroup,
  attempt: AttemptEntry,
  key: string,
  scoring: ScoringState,
  report: RolloutReported,
): void {
  const epoch = scoring.epoch + 1;
  writeScoring(group, attempt, key, { ...scoring, state: 'CLAIMED', epoch, claimId: report.claim_id });
  group.work.setTimer(leaseTimer(scoring.workId, epoch), group.work.now + group.timings.leaseMs);
  grant(group, report, epoch);
}
