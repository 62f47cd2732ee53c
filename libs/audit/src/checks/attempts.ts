import { attemptIdFor, rolloutIdFor, trajectoryIdFor } from '@espalier/contracts';
import type { Placed } from '../log/run-log.ts';
import type { Findings } from '../report/finding.ts';
import type { Check } from './check.ts';
import type { RunIndex } from './run-index.ts';

/** Every attempt was asked for, in a group that was opened, under ids that follow from each other; and ended at most once. */
export const checkAttempts: Check = (run, findings) => {
  for (const requests of run.requested.values()) for (const request of requests) checkRequest(run, request, findings);
  for (const [attemptId, endings] of run.endings) {
    const [first, ...again] = endings;
    if (!first) continue;
    for (const other of again)
      findings.violation(
        'ATTEMPT_ENDED_TWICE',
        other,
        `attempt ${attemptId} had ended as ${first.value.outcome} at offset ${first.offset}, here as ${other.value.outcome}`,
      );
    if (!run.requested.has(attemptId) && !run.truncated('rollout.requested'))
      findings.violation('ATTEMPT_NOT_REQUESTED', first, `attempt ${attemptId} ended but was never requested`);
    checkEnding(run, first, findings);
  }
  for (const [attemptId, records] of run.recorded)
    if (records[0] && !run.requested.has(attemptId) && !run.truncated('rollout.requested'))
      findings.violation('ATTEMPT_NOT_REQUESTED', records[0], `attempt ${attemptId} is recorded, never requested`);
  if (run.ended) checkNothingOpen(run, run.ended, findings);
};

function checkRequest(run: RunIndex, request: Placed<'rollout.requested'>, findings: Findings): void {
  const { group_id, rollout_id, attempt_id, rollout_index, attempt_no, task, purpose } = request.value;
  const rollout = rolloutIdFor(group_id, rollout_index);
  if (rollout_id !== rollout || attempt_id !== attemptIdFor(rollout, attempt_no))
    findings.violation('ID_INVALID', request, `${attempt_id} is not attempt ${attempt_no} of ${rollout}`);
  const opened = run.opened.get(group_id)?.[0];
  if (!opened) {
    if (!run.truncated('group.opened'))
      findings.violation('GROUP_UNKNOWN', request, `attempt ${attempt_id}: its group was never opened`);
  } else if (opened.value.task.package.sha256 !== task.package.sha256 || opened.value.spec.purpose !== purpose) {
    findings.violation('REQUEST_DIFFERS', request, `attempt ${attempt_id}: task or purpose is not its group's`);
  }
  if (attempt_no === 0 || !run.settled(request)) return;
  const before = attemptIdFor(rollout, attempt_no - 1);
  const outcome = run.endings.get(before)?.[0]?.value.outcome;
  if (outcome !== 'REPLACED' && !run.truncated('rollout.ended'))
    findings.violation(
      'REPLACEMENT_UNEXPLAINED',
      request,
      `attempt ${attempt_id} replaces ${before}, which ${outcome ? `ended as ${outcome}` : 'never ended'}`,
    );
}

/** What an outcome says must agree with the fields beside it, the decision and the trajectory. */
function checkEnding(run: RunIndex, ending: Placed<'rollout.ended'>, findings: Findings): void {
  const { attempt_id: attemptId, group_id, outcome, failure, reason, reward, trajectory_id } = ending.value;
  const wrong = (message: string): void =>
    findings.violation('ENDING_CONTRADICTS', ending, `attempt ${attemptId} (${outcome}): ${message}`);
  switch (outcome) {
    case 'REPLACED':
    case 'FAILED':
      if (!failure) wrong('names no failure');
      break;
    case 'CANCELLED':
      if (reason === null) wrong('names no reason');
      break;
    case 'FILTERED':
      if (reason === null) wrong('names no reason');
      if (trajectory_id === null || reward === null) wrong('was never scored');
      break;
    case 'POOLED':
    case 'DELIVERED':
    case 'SPARE':
      if (trajectory_id === null) wrong('names no trajectory');
      if (outcome !== 'SPARE' && reward === null) wrong('has no reward');
      break;
    case 'UNKNOWN':
      wrong('the class is unknown to this audit');
      break;
    default:
      outcome satisfies never;
  }
  if (failure?.class === 'INFRA' && reward !== null) wrong(`failed with ${failure.code} and yet has reward ${reward}`);
  if (trajectory_id !== null) {
    if (trajectory_id !== trajectoryIdFor(attemptId)) wrong(`names trajectory ${trajectory_id}`);
    if (!run.recorded.has(attemptId) && !run.truncated('trajectory.recorded'))
      findings.violation('TRAJECTORY_MISSING', ending, `attempt ${attemptId} ended, its trajectory is not recorded`);
  }
  const scored = trajectory_id === null ? undefined : run.scored.get(trajectory_id)?.[0];
  if (reward !== null && !run.truncated('trajectory.scored')) {
    if (!scored)
      findings.violation('SCORE_MISSING', ending, `attempt ${attemptId} has reward ${reward}, never published`);
    else if (scored.value.reward !== reward) wrong(`has reward ${reward}, published was ${scored.value.reward}`);
  }
  if (outcome === 'REPLACED') checkReplaced(run, ending, findings);
  const decision = run.decisions.get(group_id)?.[0];
  const member = decision?.value.members.find((entry) => entry.attempt_id === attemptId);
  if (decision && (member?.selected ?? false) !== (outcome === 'POOLED'))
    wrong(`the group's decision (offset ${decision.offset}) ${member?.selected ? 'selected' : 'did not select'} it`);
  if (decision?.value.outcome === 'ADMITTED' && outcome === 'DELIVERED') wrong('was delivered by a group in training');
  if (member && member.reward !== reward && outcome !== 'SPARE') wrong(`reward ${reward}, decided ${member.reward}`);
  if (
    !decision &&
    run.settled(ending) &&
    !run.truncated('group.decided') &&
    ['POOLED', 'DELIVERED', 'SPARE', 'FILTERED'].includes(outcome)
  )
    findings.violation('DECISION_MISSING', ending, `attempt ${attemptId} ended as ${outcome}, its group is undecided`);
}

function checkReplaced(run: RunIndex, ending: Placed<'rollout.ended'>, findings: Findings): void {
  const { attempt_id: attemptId, rollout_id, group_id } = ending.value;
  const number = run.requested.get(attemptId)?.[0]?.value.attempt_no;
  if (number === undefined || run.requested.has(attemptIdFor(rollout_id, number + 1))) return;
  if (run.settled(ending) && !run.decisions.has(group_id))
    findings.violation('REPLACEMENT_MISSING', ending, `attempt ${attemptId} was replaced, by no attempt`);
}

/**
 * When the run has ended, nothing is open but a late trajectory in scoring, which ends as a spare: its group has decided
 * without it. Scored, it must have ended.
 */
function checkNothingOpen(run: RunIndex, ended: Placed<'run.reported'>, findings: Findings): void {
  // A run that a defect has ended cancels its groups after that.
  if (run.truncated('rollout.ended') || (ended.value.state === 'FAILED' && !run.longAgo(ended))) return;
  for (const [attemptId, [request]] of run.requested) {
    if (!request || run.endings.has(attemptId)) continue;
    const scored = run.scored.get(trajectoryIdFor(attemptId))?.[0];
    if (run.decisions.has(request.value.group_id) && run.recorded.has(attemptId) && !scored) continue;
    findings.violation(
      'ATTEMPT_LEFT_OPEN',
      scored ?? request,
      `attempt ${attemptId} is open, yet the run ended (run.reported offset ${ended.offset})`,
    );
  }
}
