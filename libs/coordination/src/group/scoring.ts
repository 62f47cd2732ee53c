import { combineRewards } from '@espalier/rewards';
import { scoringIdFor, trajectoryIdFor, type Failure, type Reward, type ScorerConfig } from '@espalier/contracts';
import { replaceAttempt } from './attempts.ts';
import { headOf, writeAttempt, writeHead, type OpenGroup } from './context.ts';
import { leaseTimer, scorerTimer, type AttemptEntry, type ScoringState } from './entries.ts';

/** Most rounds of one scorer over one trajectory: infrastructure failures of a scorer are tried again. */
export const MAX_SCORING_ROUNDS = 3;

export const scorerKey = (scorer: ScorerConfig): string => `${scorer.name}@${scorer.version}`;

const scorerFor = (group: OpenGroup, key: string): ScorerConfig | undefined =>
  group.frozen.spec.scorers.find((scorer) => scorerKey(scorer) === key);

/** Whether a scorer's verdict may count. */
export const isTrusted = (reward: Reward): boolean => reward.status === 'OK' || reward.status === 'GATED';

/** Asks every scorer of the run for its verdict on a recorded trajectory. */
export function requestScorings(group: OpenGroup, attempt: AttemptEntry): AttemptEntry {
  let current = attempt;
  for (const scorer of group.frozen.spec.scorers)
    current = requestScoring(group, current, scorer, 0, group.work.now + scorer.deadline_ms);
  return current;
}

function requestScoring(
  group: OpenGroup,
  attempt: AttemptEntry,
  scorer: ScorerConfig,
  round: number,
  deadlineAt: number,
): AttemptEntry {
  const { runId, groupId, task } = group.frozen;
  const trajectoryId = trajectoryIdFor(attempt.attemptId);
  const workId = scoringIdFor(trajectoryId, scorer.name, scorer.version, round);
  const scoring: ScoringState = {
    workId,
    round,
    state: 'REQUESTED',
    epoch: 0,
    claimId: null,
    deadlineAt,
    reward: null,
  };
  group.work.setTimer(scorerTimer(workId), deadlineAt);
  group.work.emit('scoring.requested', {
    run_id: runId,
    group_id: groupId,
    attempt_id: attempt.attemptId,
    trajectory_id: trajectoryId,
    work_id: workId,
    scorer: scorer.name,
    scorer_version: scorer.version,
    required: scorer.required,
    config_json: scorer.config_json,
    deadline_at: deadlineAt,
    task,
    snapshot: attempt.record?.snapshot ?? null,
    body: attempt.record?.body ?? null,
    stop_reason: attempt.record?.stopReason ?? '',
    idempotency_key: workId,
  });
  return writeAttempt(group, { ...attempt, scorings: { ...attempt.scorings, [scorerKey(scorer)]: scoring } });
}

/** The scoring of `attempt` with this request id, and its key. */
export function scoringOf(attempt: AttemptEntry, workId: string): readonly [string, ScoringState] | undefined {
  return Object.entries(attempt.scorings).find(([, scoring]) => scoring.workId === workId);
}

export const writeScoring = (
  group: OpenGroup,
  attempt: AttemptEntry,
  key: string,
  scoring: ScoringState,
): AttemptEntry => writeAttempt(group, { ...attempt, scorings: { ...attempt.scorings, [key]: scoring } });

/** A scoring is lost with its worker: the next round, within the same deadline. */
export function requestScoringAgain(
  group: OpenGroup,
  attempt: AttemptEntry,
  key: string,
  failure: Failure,
): AttemptEntry {
  const scoring = attempt.scorings[key];
  const scorer = scorerFor(group, key);
  if (!scoring || !scorer) return attempt;
  if (scoring.round + 1 >= MAX_SCORING_ROUNDS || group.work.now >= scoring.deadlineAt)
    return settleScoring(group, attempt, key, nullReward(scorer, 'INFRA_ERROR', failure));
  clearScoringTimers(group, scoring);
  return requestScoring(group, attempt, scorer, scoring.round + 1, scoring.deadlineAt);
}

/** A reward without a score. */
export const nullReward = (scorer: ScorerConfig, status: Reward['status'], failure: Failure): Reward => ({
  scorer: scorer.name,
  scorer_version: scorer.version,
  status,
  score: null,
  weight: scorer.weight,
  required: scorer.required,
  failure,
  details_json: '{}',
});

/** Longest details of one scorer kept and published; what is longer belongs in its evidence. */
const MAX_DETAILS_BYTES = 8 * 1024;

const boundedDetails = (details: string): string => {
  const bytes = Buffer.byteLength(details);
  return bytes <= MAX_DETAILS_BYTES ? details : JSON.stringify({ omitted_bytes: bytes });
};

/** Records a scorer's last word; weight and necessity are the run's, whatever the scorer says. */
export function settleScoring(group: OpenGroup, attempt: AttemptEntry, key: string, reward: Reward): AttemptEntry {
  const scoring = attempt.scorings[key];
  const scorer = scorerFor(group, key);
  if (!scoring || !scorer || scoring.state === 'DONE') return attempt;
  clearScoringTimers(group, scoring);
  const trusted = isTrusted(reward) && reward.score !== null;
  const settled: Reward = {
    ...reward,
    scorer: scorer.name,
    scorer_version: scorer.version,
    weight: scorer.weight,
    required: scorer.required,
    score: trusted ? reward.score : null,
    details_json: boundedDetails(reward.details_json),
  };
  return writeScoring(group, attempt, key, { ...scoring, state: 'DONE', reward: settled });
}

function clearScoringTimers(group: OpenGroup, scoring: ScoringState): void {
  group.work.clearTimer(scorerTimer(scoring.workId));
  if (scoring.epoch > 0) group.work.clearTimer(leaseTimer(scoring.workId, scoring.epoch));
}

/** The verdicts so far, in the run's order of scorers. */
export const rewardsOf = (group: OpenGroup, attempt: AttemptEntry): Reward[] =>
  group.frozen.spec.scorers.flatMap((scorer) => attempt.scorings[scorerKey(scorer)]?.reward ?? []);

/** Whether every required scorer has had its last word. */
export const requiredSettled = (group: OpenGroup, attempt: AttemptEntry): boolean =>
  group.frozen.spec.scorers.every(
    (scorer) => !scorer.required || attempt.scorings[scorerKey(scorer)]?.state === 'DONE',
  );

export const allSettled = (attempt: AttemptEntry): boolean =>
  Object.values(attempt.scorings).every((scoring) => scoring.state === 'DONE');

/**
 * After a verdict: publishes the trajectory once its required scorers have spoken, and again with a higher revision when a
 * later one speaks. A required scorer without a trustworthy verdict makes the attempt one to replace: a failure of the
 * infrastructure is never a reward.
 */
export function publishScored(group: OpenGroup, attempt: AttemptEntry): void {
  if (!requiredSettled(group, attempt)) return;
  const rewards = rewardsOf(group, attempt);
  const combined = combineRewards(rewards);
  const first = attempt.state === 'RECORDED';
  if (first && combined.reward === null) {
    const failed = rewards.find((reward) => reward.required && !isTrusted(reward));
    const failure: Failure = failed?.failure ?? {
      class: 'INFRA',
      code: 'SCORER_NO_SCORE',
      message: `${failed?.scorer ?? 'a required scorer'} gave no score`,
      stage: 'scoring',
      retryable: true,
    };
    emitScored(group, { ...attempt, revision: attempt.revision + 1 }, null, null, rewards);
    replaceAttempt(group, writeAttempt(group, { ...attempt, revision: attempt.revision + 1 }), failure);
    return;
  }
  const head = headOf(group);
  const scored = writeAttempt(group, {
    ...attempt,
    state: first ? 'SCORED' : attempt.state,
    reward: first ? combined.reward : attempt.reward,
    passed: first ? combined.passed : attempt.passed,
    order: first ? head.scored : attempt.order,
    revision: attempt.revision + 1,
  });
  if (first) writeHead(group, { scored: head.scored + 1 });
  emitScored(group, scored, combined.reward, combined.passed, rewards);
}

function emitScored(
  group: OpenGroup,
  attempt: AttemptEntry,
  reward: number | null,
  passed: boolean | null,
  rewards: Reward[],
): void {
  const { runId, groupId, task, spec } = group.frozen;
  const record = attempt.record;
  if (!record) throw new Error(`attempt ${attempt.attemptId} is scored without a record`);
  group.work.emit('trajectory.scored', {
    run_id: runId,
    group_id: groupId,
    rollout_id: attempt.rolloutId,
    attempt_id: attempt.attemptId,
    trajectory_id: trajectoryIdFor(attempt.attemptId),
    task_id: task.task_id,
    task_name: task.name,
    revision: attempt.revision,
    purpose: spec.purpose,
    reward,
    passed,
    rewards,
    status: record.status,
    stop_reason: record.stopReason,
    body: record.body,
    snapshot: record.snapshot,
    counts: record.counts,
    policy_version_min: record.policyVersionMin,
    policy_version_max: record.policyVersionMax,
    model: spec.policy.model,
    harness: attempt.harness,
    config_hash: record.configHash,
    timing: record.timing,
    idempotency_key: `${trajectoryIdFor(attempt.attemptId)}#${attempt.revision}`,
  });
}
