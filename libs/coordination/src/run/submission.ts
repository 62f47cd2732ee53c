import { TASK_ID, type RunSubmitted, type TaskSpec, type TaskSubmitted } from '@espalier/contracts';
import { digestOf } from '../state/canonical.ts';
import type { Workspace } from '../state/workspace.ts';
import type { Timings } from '../timings.ts';
import { enqueue } from './admission.ts';
import { configOf, findRun, headOf, isLive, report, writeHead, type KnownRun } from './context.ts';
import {
  configKey,
  headKey,
  parkedKey,
  parkedPrefix,
  parkTimer,
  taskKey,
  type ConfigEntry,
  type ParkedTask,
  type RunHead,
  type TaskEntry,
} from './entries.ts';
import { runConfigProblems } from './legality.ts';

/** Most tasks that wait for one unknown run. */
export const MAX_PARKED = 1000;

/** A run is asked for: the first wins, an equal one changes nothing, a different one is refused. */
export function onSubmitted(work: Workspace, timings: Timings, event: RunSubmitted): KnownRun | undefined {
  const runId = event.run_id ?? '';
  const digest = digestOf(event.config);
  const known = findRun(work, timings, runId);
  if (known) {
    const entry = work.get<ConfigEntry>(configKey(runId));
    if (entry?.digest !== digest) {
      work.reject('RUN_DIFFERS', `run ${runId} exists with another configuration; choose another run_id`);
      report(known, 'STATE', {
        accepted: false,
        code: 'RUN_DIFFERS',
        message: 'a run with this id has another configuration',
      });
    }
    return known;
  }
  const problems = runConfigProblems(runId, event.config);
  if (problems.length > 0) {
    work.reject('RUN_INVALID', problems.join('; '));
    work.emit('run.reported', {
      run_id: runId,
      kind: 'STATE',
      state: 'REFUSED',
      accepted: false,
      code: 'RUN_INVALID',
      message: problems.join('; '),
    });
    return undefined;
  }
  const head: RunHead = {
    runId,
    state: 'ACTIVE',
    pausedBy: null,
    tasksClosed: false,
    endReason: null,
    waitingFor: null,
    taskCount: 0,
    queued: 0,
    level: 0,
    openGroups: 0,
    inFlight: 0,
    groupsOpened: 0,
    groupsDecided: 0,
    groupsFiltered: 0,
    accepted: 0,
    pooledGroups: 0,
    nextPool: 0,
    attemptsEnded: 0,
    attemptsFailed: 0,
    rolloutsCounted: 0,
    offeredSeq: 0,
    trainedSeq: 0,
    policyVersion: 0,
    newestVersion: 0,
    learnerEpoch: 0,
    learnerId: null,
  };
  const entry: ConfigEntry = { config: event.config, digest, submittedBy: event.submitted_by };
  work.put(headKey(runId), 'run-head', head);
  work.put(configKey(runId), 'config', entry);
  const run: KnownRun = { work, timings, runId };
  report(run, 'STATE', { accepted: true, message: 'submitted' });
  unpark(run);
  return run;
}

/** A task: taken into its run, or parked until its run is known. */
export function onTask(work: Workspace, timings: Timings, event: TaskSubmitted): KnownRun | undefined {
  const runId = event.run_id ?? '';
  const run = findRun(work, timings, runId);
  if (run) {
    takeTask(run, event);
    return run;
  }
  if ([...work.scan(parkedPrefix(runId))].length >= MAX_PARKED) {
    work.reject(
      'RUN_UNKNOWN',
      `run ${runId} is unknown and ${MAX_PARKED} tasks wait for it already; submit the run first`,
    );
    return undefined;
  }
  const parked: ParkedTask = { event: { ...event }, parkedAt: work.now };
  work.put(parkedKey(runId, event.task_id), 'parked', parked);
  work.setTimer(parkTimer(runId, event.task_id), work.now + timings.parkMs);
  return undefined;
}

function unpark(run: KnownRun): void {
  for (const [key, parked] of run.work.scan<ParkedTask>(parkedPrefix(run.runId))) {
    const event = parked.event as unknown as TaskSubmitted;
    run.work.remove(key);
    run.work.clearTimer(parkTimer(run.runId, event.task_id));
    takeTask(run, event);
  }
}

/** No run came: the task is given up, with a report that names it. */
export function giveUpParked(work: Workspace, runId: string, taskId: string): void {
  const parked = work.get<ParkedTask>(parkedKey(runId, taskId));
  if (!parked) return;
  work.remove(parkedKey(runId, taskId));
  work.effects.rejections.push({
    code: 'RUN_UNKNOWN',
    message: `task ${taskId}: run ${runId} was not submitted in time; submit the run, then replay the task`,
    event: { topic: 'task.submitted', value: parked.event as unknown as TaskSubmitted },
  });
}

function takeTask(run: KnownRun, event: TaskSubmitted): void {
  const refuse = (code: string, message: string): void => {
    run.work.reject(code, message);
    report(run, 'TASK', { accepted: false, code, message, command_id: event.task_id });
  };
  if (!TASK_ID.test(event.task_id)) {
    refuse('TASK_INVALID', `task_id "${event.task_id}" must be 1-128 of letters, digits, ".", "_" and "-"`);
    return;
  }
  if (!Number.isSafeInteger(event.repeat) || event.repeat < 1) {
    refuse('TASK_INVALID', `task ${event.task_id}: repeat ${event.repeat} must be a positive integer`);
    return;
  }
  const task: TaskSpec = {
    task_id: event.task_id,
    package: event.package,
    name: event.name,
    image: event.image,
    resources_json: event.resources_json,
    agent_timeout_ms: event.agent_timeout_ms,
    verifier_timeout_ms: event.verifier_timeout_ms,
  };
  const digest = digestOf({ ...task, repeat: event.repeat });
  const known = run.work.get<TaskEntry>(taskKey(run.runId, event.task_id));
  if (known) {
    if (known.digest !== digest) refuse('TASK_DIFFERS', `task ${event.task_id} was submitted with other contents`);
    return;
  }
  const head = headOf(run);
  if (!isLive(run) || head.state === 'DRAINING' || head.tasksClosed) {
    refuse('TASKS_CLOSED', `task ${event.task_id}: run ${run.runId} takes no more tasks`);
    return;
  }
  const entry: TaskEntry = { index: head.taskCount, task, repeat: event.repeat, admitted: 0, digest };
  run.work.put(taskKey(run.runId, event.task_id), 'task', entry);
  writeHead(run, { taskCount: head.taskCount + 1 });
  enqueue(run, entry, configOf(run).repeat_tasks ? head.level : 0);
}
