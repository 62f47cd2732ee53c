import { attemptIdFor, rolloutIdFor, type Failure, type HarnessConfig } from '@espalier/contracts';
import { seedFrom } from '../state/canonical.ts';
import { endAttempt, headOf, writeAttempt, writeHead, type OpenGroup } from './context.ts';
import { deadlineTimer, leaseTimer, overdueTimer, type AttemptEntry } from './entries.ts';

/** Most claims on one attempt before it counts as failed. */
const MAX_CLAIMS = 8;

/** The harness of a rollout: by weight, from the group's seed, the same for every attempt of the rollout. */
export function harnessFor(harnesses: readonly HarnessConfig[], seed: number, rolloutIndex: number): HarnessConfig {
  const total = harnesses.reduce((sum, harness) => sum + harness.weight, 0);
  let point = (seedFrom(seed, 'harness', rolloutIndex) / 2 ** 48) * total;
  for (const harness of harnesses) {
    point -= harness.weight;
    if (point < 0) return harness;
  }
  const last = harnesses.at(-1);
  if (!last) throw new Error('a group without harnesses');
  return last;
}

/** Launches `count` more rollouts, each with its first attempt. */
export function launch(group: OpenGroup, count: number): void {
  const { launched } = headOf(group);
  for (let index = launched; index < launched + count; index += 1) requestNew(group, index, 0);
  writeHead(group, { launched: launched + count });
}

/** Creates an attempt and asks for it. */
function requestNew(group: OpenGroup, rolloutIndex: number, attemptNo: number): void {
  const { groupId, spec } = group.frozen;
  const rolloutId = rolloutIdFor(groupId, rolloutIndex);
  const attempt = writeAttempt(group, {
    attemptId: attemptIdFor(rolloutId, attemptNo),
    rolloutId,
    rolloutIndex,
    attemptNo,
    state: 'REQUESTED',
    epoch: 0,
    claimId: null,
    workerId: null,
    phase: null,
    sandboxId: null,
    modelLogFrom: null,
    harness: harnessFor(spec.harnesses, spec.seed, rolloutIndex),
    record: null,
    scorings: {},
    reward: null,
    passed: null,
    order: -1,
    revision: -1,
    outcome: null,
    failure: null,
  });
  const deadlineAt = group.work.now + group.timings.attemptDeadlineMs;
  group.work.setTimer(deadlineTimer(attempt.attemptId), deadlineAt);
  request(group, attempt, deadlineAt);
}

function request(group: OpenGroup, attempt: AttemptEntry, deadlineAt: number, kind: 'START' | 'ADOPT' = 'START'): void {
  const { runId, groupId, spec, task, policyVersion } = group.frozen;
  group.work.emit('rollout.requested', {
    run_id: runId,
    group_id: groupId,
    rollout_id: attempt.rolloutId,
    attempt_id: attempt.attemptId,
    attempt_no: attempt.attemptNo,
    rollout_index: attempt.rolloutIndex,
    kind,
    epoch: attempt.epoch + 1,
    purpose: spec.purpose,
    task,
    harness: attempt.harness,
    policy: spec.policy,
    limits: spec.limits,
    policy_version: policyVersion,
    seed: seedFrom(spec.seed, attempt.rolloutIndex, attempt.attemptNo),
    deadline_at: deadlineAt,
    sandbox_id: kind === 'ADOPT' ? attempt.sandboxId : null,
    model_log_from: kind === 'ADOPT' ? attempt.modelLogFrom : null,
    idempotency_key: `${attempt.attemptId}#${attempt.epoch + 1}`,
  });
}

/**
 * A claim ended without a record. Before the harness started the same attempt is asked for again; while the harness runs in
 * its sandbox another runner is asked to adopt it; else the attempt is replaced. An adopter that finds the sandbox gone
 * records that, which replaces the attempt.
 */
export function claimLost(group: OpenGroup, attempt: AttemptEntry, failure: Failure): void {
  group.work.clearTimer(leaseTimer(attempt.attemptId, attempt.epoch));
  group.work.clearTimer(overdueTimer(attempt.attemptId));
  const deadlineAt = group.work.now + group.timings.attemptDeadlineMs;
  // An attempt that ends every runner that takes it is not handed on for ever.
  if (attempt.epoch >= MAX_CLAIMS) replaceAttempt(group, attempt, failure);
  else if (attempt.phase === null || attempt.phase === 'sandbox')
    request(group, vacated(group, attempt, null), deadlineAt);
  else if (attempt.phase === 'harness' && attempt.sandboxId !== null)
    request(group, vacated(group, attempt, attempt.phase), deadlineAt, 'ADOPT');
  else replaceAttempt(group, attempt, failure);
}

const vacated = (group: OpenGroup, attempt: AttemptEntry, phase: string | null): AttemptEntry =>
  writeAttempt(group, { ...attempt, state: 'REQUESTED', claimId: null, workerId: null, phase });

/**
 * An attempt failed for a reason that is not the policy's: it is replaced by a new attempt of the same rollout, or, with
 * the group's replacements spent, it failed for good.
 */
export function replaceAttempt(group: OpenGroup, attempt: AttemptEntry, failure: Failure): void {
  const head = headOf(group);
  if (head.status === 'DECIDED') {
    endAttempt(group, attempt, { outcome: 'FAILED', failure });
    return;
  }
  if (head.replaced >= group.frozen.spec.group.max_replacements) {
    endAttempt(group, attempt, { outcome: 'FAILED', failure });
    return;
  }
  endAttempt(group, attempt, { outcome: 'REPLACED', reason: failure.code, failure });
  writeHead(group, { replaced: head.replaced + 1 });
  requestNew(group, attempt.rolloutIndex, attempt.attemptNo + 1);
}
