import type { Placed } from '../log/run-log.ts';
import type { Check } from './check.ts';
import { groupBy, type RunIndex } from './run-index.ts';
import { same } from './same.ts';

/** The run was asked for, every group is of a submitted task, and its frozen configuration is the run's. */
export const checkSubmissions: Check = (run, findings) => {
  const { log, submitted } = run;
  const anything = log.of('run.reported')[0] ?? log.of('group.opened')[0] ?? log.of('rollout.requested')[0];
  if (!submitted && anything && !run.truncated('run.submitted'))
    findings.violation('RUN_NOT_SUBMITTED', anything, `run ${log.runId} acts, but no run.submitted asked for it`);
  for (const later of log.of('run.submitted').slice(1)) {
    if (submitted && same(later.value.config, submitted.value.config))
      findings.warning('RUN_SUBMITTED_AGAIN', later, 'submitted again with an equal configuration; it has no effect');
    else findings.warning('RUN_SUBMITTED_OTHERWISE', later, 'submitted again otherwise; it must have been refused');
  }

  const tasks = groupBy(log.of('task.submitted'), ({ value }) => value.task_id);
  for (const [taskId, [first, ...more]] of tasks) {
    for (const again of more) {
      const equal = again.value.package.sha256 === first?.value.package.sha256;
      findings.warning(
        'TASK_SUBMITTED_AGAIN',
        again,
        `task ${taskId} again, ${equal ? 'the same' : 'another'} package`,
      );
    }
  }
  for (const groups of run.opened.values()) checkGroup(run, groups, tasks, findings);
  checkAdmissions(run, findings);
};

function checkGroup(
  run: RunIndex,
  [opened, ...again]: readonly Placed<'group.opened'>[],
  tasks: ReadonlyMap<string, readonly Placed<'task.submitted'>[]>,
  findings: Parameters<Check>[1],
): void {
  if (!opened) return;
  const { group_id: group, task, spec } = opened.value;
  for (const other of again) findings.violation('GROUP_OPENED_TWICE', other, `group ${group} was opened before`);
  const submissions = tasks.get(task.task_id) ?? [];
  if (submissions.length === 0) {
    if (!run.truncated('task.submitted'))
      findings.violation('TASK_NOT_SUBMITTED', opened, `group ${group} is of task ${task.task_id}, never submitted`);
  } else if (!submissions.some(({ value }) => value.package.sha256 === task.package.sha256)) {
    findings.violation('TASK_DIFFERS', opened, `group ${group} has package ${task.package.sha256}, never submitted`);
  }
  const config = run.submitted?.value.config;
  if (!config) return;
  for (const field of ['purpose', 'harnesses', 'policy', 'group', 'estimator', 'limits', 'scorers'] as const)
    if (!same(spec[field], config[field]))
      findings.violation('GROUP_SPEC_DIFFERS', opened, `group ${group}: ${field} is not that of the run`);
}

/** Admissions of a task count up without holes: a hole is a group that was opened and is gone from the log. */
function checkAdmissions(run: RunIndex, findings: Parameters<Check>[1]): void {
  const byTask = groupBy([...run.opened.values()].flat(), ({ value }) => value.task.task_id);
  for (const [taskId, groups] of byTask) {
    const numbers = new Map(groups.map((group) => [group.value.admission, group]));
    for (const [admission, group] of numbers) {
      if (admission > 0 && !numbers.has(admission - 1) && !run.truncated('group.opened'))
        findings.violation('GROUP_MISSING', group, `task ${taskId}: admission ${admission - 1} was never opened`);
      if (group.value.group_id !== `${run.log.runId}/${taskId}/${admission}`)
        findings.violation('ID_INVALID', group, `${group.value.group_id} is not admission ${admission} of ${taskId}`);
    }
  }
  for (const [groupId, [command]] of run.commanded)
    if (command && !run.opened.has(groupId) && !run.truncated('group.opened'))
      findings.violation('GROUP_UNKNOWN', command, `group ${groupId} is commanded but was never opened`);
}
