import type { GroupMember } from '@espalier/contracts';
import type { Placed } from '../log/run-log.ts';
import type { Findings } from '../report/finding.ts';
import type { Check } from './check.ts';
import type { RunIndex } from './run-index.ts';
import { countedRecord } from './trajectories.ts';
import { same } from './same.ts';

/** One decision per group, over exactly its recorded trajectories, with figures that follow from them. */
export const checkGroups: Check = (run, findings) => {
  for (const [groupId, [decided, ...again]] of run.decisions) {
    if (!decided) continue;
    for (const other of again)
      findings.violation('GROUP_DECIDED_TWICE', other, `group ${groupId} was decided at offset ${decided.offset}`);
    checkDecision(run, decided, findings);
  }
  if (!run.ended || run.truncated('group.decided')) return;
  if (run.ended.value.state === 'FAILED' && !run.longAgo(run.ended)) return;
  for (const [groupId, [opened]] of run.opened)
    if (opened && !run.decisions.has(groupId))
      findings.violation('GROUP_LEFT_OPEN', opened, `group ${groupId} is undecided, yet the run ended`);
};

function checkDecision(run: RunIndex, decided: Placed<'group.decided'>, findings: Findings): void {
  const { group_id: groupId, outcome, members, reason, task_id } = decided.value;
  const wrong = (message: string): void =>
    findings.violation('DECISION_CONTRADICTS', decided, `group ${groupId} (${outcome}): ${message}`);
  const opened = run.opened.get(groupId)?.[0];
  if (!opened) {
    if (!run.truncated('group.opened'))
      findings.violation('GROUP_UNKNOWN', decided, `group ${groupId} is decided but was never opened`);
  } else if (opened.value.task.task_id !== task_id || opened.value.spec.estimator !== decided.value.estimator) {
    wrong('task or estimator is not the one it was opened with');
  }
  const selected = members.filter((member) => member.selected);
  if (
    outcome === 'ADMITTED'
      ? selected.length !== (opened?.value.spec.group.size ?? selected.length)
      : selected.length > 0
  )
    wrong(`${selected.length} trajectories are selected`);
  if (outcome === 'UNKNOWN') wrong('the outcome is unknown to this audit');
  if ((outcome === 'FILTERED' || outcome === 'CANCELLED') && reason === null) wrong('no reason is given');
  if (outcome === 'CANCELLED' && !run.commanded.has(groupId) && !run.truncated('group.commanded'))
    findings.violation('COMMAND_MISSING', decided, `group ${groupId} was cancelled, but nobody commanded it`);
  if (new Set(members.map((member) => member.attempt_id)).size !== members.length) wrong('lists an attempt twice');
  for (const member of members) checkMember(run, decided, member, findings);
  checkFigures(run, decided, selected, wrong);
  checkAdvantages(decided.value.estimator, selected, wrong);
}

/** Estimators whose advantages are centred on the group: they add up to nothing and keep the order of the rewards. */
const CENTRED: ReadonlySet<string> = new Set(['grpo', 'rloo', 'reinforce']);

function checkAdvantages(estimator: string, selected: readonly GroupMember[], wrong: (message: string) => void): void {
  if (!CENTRED.has(estimator)) return;
  const scale = Math.max(1, ...selected.map(({ advantage }) => Math.abs(advantage ?? 0)));
  const sum = selected.reduce((total, { advantage }) => total + (advantage ?? 0), 0);
  if (!(Math.abs(sum) <= 1e-6 * scale * Math.max(1, selected.length))) wrong(`its advantages add up to ${sum}`);
  const byReward = [...selected].sort((left, right) => (left.reward ?? 0) - (right.reward ?? 0));
  for (const [index, member] of byReward.entries()) {
    const before = byReward[index - 1];
    if (before && (before.advantage ?? 0) > (member.advantage ?? 0))
      wrong(`${before.trajectory_id} has the smaller reward and the larger advantage than ${member.trajectory_id}`);
  }
}

function checkMember(run: RunIndex, decided: Placed<'group.decided'>, member: GroupMember, findings: Findings): void {
  const { trajectory_id: id, attempt_id: attemptId, selected, advantage, reward } = member;
  const at = `group ${decided.value.group_id}, member ${id}`;
  const wrong = (message: string): void => findings.violation('MEMBER_DIFFERS', decided, `${at}: ${message}`);
  const record = countedRecord(run, attemptId);
  if (!record) {
    if (!run.truncated('trajectory.recorded'))
      findings.violation('TRAJECTORY_MISSING', decided, `${at}: no record of it that counts`);
  } else if (
    record.value.trajectory_id !== id ||
    record.value.status !== member.status ||
    record.value.policy_version_min !== member.policy_version_min ||
    record.value.policy_version_max !== member.policy_version_max ||
    !same(record.value.body, member.body) ||
    !same(record.value.counts, member.counts)
  ) {
    wrong(`is not what was recorded (trajectory.recorded offset ${record.offset})`);
  }
  const first = run.scored.get(id)?.find(({ value }) => value.revision === 0);
  if (reward !== null && !first && !run.truncated('trajectory.scored'))
    findings.violation('SCORE_MISSING', decided, `${at}: reward ${reward}, but revision 0 was never published`);
  if (first && reward !== null && first.value.reward !== reward)
    wrong(`reward ${reward}, published ${first.value.reward} (trajectory.scored offset ${first.offset})`);
  if (selected && (reward === null || advantage === null)) wrong('is selected without a reward and an advantage');
  if (!selected && advantage !== null) wrong('is not selected, yet has an advantage');
  if (selected && !run.endings.has(attemptId) && run.settled(decided) && !run.truncated('rollout.ended'))
    findings.violation('ENDING_MISSING', decided, `${at}: is selected, but its attempt never ended`);
  if (
    !selected &&
    reward !== null &&
    run.settled(decided) &&
    !run.endings.has(attemptId) &&
    !run.truncated('rollout.ended')
  )
    findings.violation('ENDING_MISSING', decided, `${at}: was decided on, but its attempt never ended`);
}

function checkFigures(
  run: RunIndex,
  decided: Placed<'group.decided'>,
  selected: readonly GroupMember[],
  wrong: (message: string) => void,
): void {
  const { members, scored, passed, pass_rate, reward_mean, replaced, group_id } = decided.value;
  const withReward = members.filter((member) => member.reward !== null);
  if (scored !== withReward.length) wrong(`scored ${scored}, but ${withReward.length} members have a reward`);
  const positive = withReward.filter((member) => (member.reward ?? 0) > 0).length;
  if (passed !== positive) wrong(`passed ${passed}, but ${positive} members have a positive reward`);
  const rate = scored === 0 ? null : passed / scored;
  if (pass_rate === null ? rate !== null : rate === null || Math.abs(rate - pass_rate) > 1e-9)
    wrong(`pass rate ${pass_rate}, its figures give ${rate}`);
  const mean =
    selected.length === 0 ? null : selected.reduce((sum, { reward }) => sum + (reward ?? 0), 0) / selected.length;
  if (mean === null ? reward_mean !== null : reward_mean === null || Math.abs(mean - reward_mean) > 1e-9)
    wrong(`mean reward ${reward_mean}, its members give ${mean}`);
  const replacedEndings = run.replacedIn.get(group_id) ?? 0;
  if (replaced !== replacedEndings && run.settled(decided) && !run.truncated('rollout.ended'))
    wrong(`${replaced} attempts replaced, but ${replacedEndings} ended so`);
}
