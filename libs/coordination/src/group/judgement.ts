import { advantagesOf, meanOf, stdOf } from '@espalier/estimators';
import { decideGroup, type PoolMember } from '@espalier/group-policies';
import { trajectoryIdFor, type GroupMember, type GroupOutcome, type SelectionKind } from '@espalier/contracts';
import { launch } from './attempts.ts';
import { attemptsOf, endAttempt, headOf, isAbandoned, isOpen, writeHead, type OpenGroup } from './context.ts';
import { attemptKey, forgetTimer, frozenKey, type AttemptEntry } from './entries.ts';
import { allSettled } from './scoring.ts';

/** Attempts that stand for their rollout: the latest of each, replaced ones left out. */
const standing = (attempts: readonly AttemptEntry[]): AttemptEntry[] =>
  attempts.filter((attempt) => attempt.outcome !== 'REPLACED');

const poolMember = (attempt: AttemptEntry): PoolMember => ({
  trajectoryId: trajectoryIdFor(attempt.attemptId),
  rolloutIndex: attempt.rolloutIndex,
  status: attempt.record?.status ?? 'FAILED',
  reward: attempt.reward,
  sampledTokens: attempt.record?.counts.sampled_tokens ?? 0,
  order: attempt.order,
  timeExceeded: attempt.record?.stopReason === 'WALL_CLOCK',
});

/** Judges the group after each completion: waits, launches more rollouts, or decides. Runs until nothing changes. */
export function judge(group: OpenGroup): void {
  if (headOf(group).status === 'DECIDED') return;
  if (group.frozen.spec.purpose === 'TRAIN') judgeForTraining(group);
  else judgeForDelivery(group);
}

function judgeForTraining(group: OpenGroup): void {
  const config = group.frozen.spec.group;
  for (let step = 0; step <= config.budget; step += 1) {
    const attempts = standing(attemptsOf(group));
    const verdict = decideGroup({
      config,
      scored: attempts.filter((attempt) => attempt.state === 'SCORED').map(poolMember),
      unscorable: attempts.filter((attempt) => attempt.state === 'ENDED').map(poolMember),
      open: attempts.filter(isOpen).length,
      launched: headOf(group).launched,
    });
    switch (verdict.kind) {
      case 'WAIT':
        return;
      case 'LAUNCH':
        launch(group, verdict.count);
        break;
      case 'ACCEPT':
        decide(group, { outcome: 'ADMITTED', selection: verdict.selection, reason: null, selected: verdict.selected });
        return;
      case 'FILTER': {
        const failed = attempts.every((attempt) => attempt.outcome === 'FAILED') && attempts.length > 0;
        decide(group, {
          outcome: failed ? 'FAILED' : 'FILTERED',
          selection: 'NONE',
          reason: verdict.reason,
          selected: [],
        });
        return;
      }
      default:
        verdict satisfies never;
    }
  }
}

/** Evaluation and distillation: `size` rollouts, delivered when all have ended. */
function judgeForDelivery(group: OpenGroup): void {
  const { launched } = headOf(group);
  const wanted = group.frozen.spec.group.size;
  if (launched < wanted) {
    launch(group, wanted - launched);
    return;
  }
  const attempts = standing(attemptsOf(group));
  if (attempts.some(isOpen)) return;
  const delivered = attempts.filter((attempt) => attempt.state === 'SCORED');
  decide(group, {
    outcome: delivered.length > 0 ? 'DELIVERED' : 'FAILED',
    selection: 'NONE',
    reason: delivered.length > 0 ? null : 'TOO_FEW',
    selected: [],
  });
}

/** A decision in the making. */
export interface Decision {
  readonly outcome: GroupOutcome;
  readonly selection: SelectionKind;
  readonly reason: string | null;
  /** Trajectory ids, in the order chosen. */
  readonly selected: readonly string[];
}

/**
 * Decides the group: one group.decided, one rollout.ended for every attempt that is scored or still runs. Trajectories in
 * scoring go on and end as spares.
 */
export function decide(group: OpenGroup, decision: Decision): void {
  const { runId, groupId, task, spec } = group.frozen;
  const attempts = attemptsOf(group);
  const chosen = decision.selected.map((id) => {
    const attempt = attempts.find((entry) => trajectoryIdFor(entry.attemptId) === id);
    if (!attempt || attempt.reward === null) throw new Error(`group ${groupId} selected ${id}, which has no reward`);
    return { id, reward: attempt.reward };
  });
  const rewards = chosen.map((member) => member.reward);
  const advantages = rewards.length > 0 ? advantagesOf(spec.estimator, rewards) : [];
  const advantageOf = new Map(chosen.map((member, index) => [member.id, advantages[index] ?? 0]));
  const scored = attempts.filter((attempt) => attempt.state === 'SCORED');
  const passed = scored.filter((attempt) => attempt.passed === true).length;
  const running = attempts.filter((attempt) => attempt.state === 'REQUESTED' || attempt.state === 'CLAIMED');
  const members = attempts
    .filter((attempt) => attempt.record !== null && attempt.outcome !== 'REPLACED')
    .map((attempt) => memberOf(attempt, advantageOf, decision));
  group.work.emit('group.decided', {
    run_id: runId,
    group_id: groupId,
    task_id: task.task_id,
    outcome: decision.outcome,
    selection: decision.selection,
    reason: decision.reason,
    // Selected members first, in the order chosen: a batch keeps it.
    members: [
      ...decision.selected.flatMap((id) => members.filter((member) => member.trajectory_id === id)),
      ...members.filter((member) => !member.selected),
    ],
    scored: scored.length,
    passed,
    pass_rate: scored.length > 0 ? passed / scored.length : null,
    reward_mean: rewards.length > 0 ? meanOf(rewards) : null,
    reward_std: rewards.length > 0 ? stdOf(rewards) : null,
    estimator: spec.estimator,
    cancelled: running.length,
    replaced: headOf(group).replaced,
    duration_ms: group.work.now - group.frozen.openedAt,
    idempotency_key: `${groupId}#decided`,
  });
  writeHead(group, { status: 'DECIDED', outcome: decision.outcome });
  for (const attempt of running) endAttempt(group, attempt, { outcome: 'CANCELLED', reason: cancelReason(decision) });
  for (const attempt of scored)
    endAttempt(group, attempt, endingOf(advantageOf.has(trajectoryIdFor(attempt.attemptId)), decision));
  if (decision.outcome === 'CANCELLED')
    for (const attempt of attempts.filter((entry) => entry.state === 'RECORDED'))
      endAttempt(group, attempt, { outcome: 'CANCELLED', reason: decision.reason ?? 'CANCELLED' });
  group.work.setTimer(forgetTimer(groupId), group.work.now + group.timings.markerMs);
  shrinkWhenSettled(group);
}

const cancelReason = (decision: Decision): string => {
  switch (decision.outcome) {
    case 'ADMITTED':
      return 'GROUP_FULL';
    case 'FILTERED':
    case 'FAILED':
      return decision.reason === 'INFEASIBLE' ? 'GROUP_INFEASIBLE' : `GROUP_${decision.reason ?? 'FILTERED'}`;
    case 'CANCELLED':
    case 'DELIVERED':
    case 'UNKNOWN':
      return decision.reason ?? 'CANCELLED';
    default:
      return decision.outcome satisfies never;
  }
};

function endingOf(selected: boolean, decision: Decision): Parameters<typeof endAttempt>[2] {
  if (selected) return { outcome: 'POOLED' };
  switch (decision.outcome) {
    case 'ADMITTED':
      return { outcome: 'SPARE', reason: 'NOT_SELECTED' };
    case 'DELIVERED':
      return { outcome: 'DELIVERED' };
    case 'FILTERED':
    case 'FAILED':
    case 'CANCELLED':
    case 'UNKNOWN':
      return { outcome: 'FILTERED', reason: decision.reason ?? decision.outcome };
    default:
      return decision.outcome satisfies never;
  }
}

function memberOf(attempt: AttemptEntry, advantages: ReadonlyMap<string, number>, decision: Decision): GroupMember {
  const record = attempt.record;
  if (!record) throw new Error(`attempt ${attempt.attemptId} has no record`);
  const trajectoryId = trajectoryIdFor(attempt.attemptId);
  const advantage = advantages.get(trajectoryId);
  const selected = advantage !== undefined;
  return {
    trajectory_id: trajectoryId,
    attempt_id: attempt.attemptId,
    rollout_index: attempt.rolloutIndex,
    status: record.status,
    reward: attempt.reward,
    selected,
    reason: selected ? null : attempt.state === 'SCORED' ? (decision.reason ?? 'NOT_SELECTED') : 'NOT_SCORED',
    advantage: advantage ?? null,
    body: record.body,
    counts: record.counts,
    policy_version_min: record.policyVersionMin,
    policy_version_max: record.policyVersionMax,
  };
}

/** After the decision, a trajectory whose scorers have all spoken ends as a spare. */
export function endSpare(group: OpenGroup, attempt: AttemptEntry): void {
  if (headOf(group).status !== 'DECIDED' || attempt.state !== 'SCORED') return;
  endAttempt(group, attempt, { outcome: 'SPARE', reason: 'LATE' });
}

/** A decided group whose scorers have all spoken keeps its marker alone. */
export function shrinkWhenSettled(group: OpenGroup): void {
  if (headOf(group).status !== 'DECIDED') return;
  const attempts = attemptsOf(group);
  const settled = attempts.every(
    (attempt) => attempt.state === 'ENDED' && (isAbandoned(attempt) || allSettled(attempt)),
  );
  if (!settled) return;
  for (const attempt of attempts) group.work.remove(attemptKey(attempt.attemptId));
  group.work.remove(frozenKey(group.frozen.groupId));
}
