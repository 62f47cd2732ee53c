import { groupIdFor } from '@espalier/contracts';
import { seedFrom } from '../state/canonical.ts';
import { configOf, headOf, report, writeHead, type KnownRun } from './context.ts';
import { groupKey, queueKey, queuePrefix, taskKey, type RunGroupEntry, type TaskEntry } from './entries.ts';

/**
 * Trajectories that may be accepted or in the making before the learner has trained more. The staleness bound of AReaL and
 * its kin, counted in groups: (eta + version + 1) versions' worth of batches.
 */
export function admissionLimit(run: KnownRun): number {
  const { batch } = configOf(run);
  const versions = Math.floor(headOf(run).trainedSeq / batch.batches_per_version);
  return (batch.max_staleness + versions + 1) * batch.batches_per_version * batch.size;
}

type Gate = 'open' | 'paused' | 'tasks' | 'learner' | 'rollouts' | 'ending';

/** What admission waits for; `open` when a group may be opened now. */
function gate(run: KnownRun): Gate {
  const head = headOf(run);
  const config = configOf(run);
  if (head.state === 'PAUSED') return 'paused';
  if (head.state !== 'ACTIVE') return 'ending';
  if (head.queued === 0) return 'tasks';
  const { size } = config.group;
  if (config.purpose === 'TRAIN' && (head.openGroups + 1) * size + head.accepted > admissionLimit(run))
    return 'learner';
  const launches = config.purpose === 'TRAIN' ? config.group.budget : size;
  if (head.inFlight > 0 && head.inFlight + launches > config.max_attempts_in_flight) return 'rollouts';
  return 'open';
}

/** Opens as many groups as the gate lets through, then says what it waits for. */
export function admit(run: KnownRun): void {
  let state = gate(run);
  while (state === 'open') {
    openNext(run);
    state = gate(run);
  }
  const waitingFor = state === 'ending' ? null : state;
  if (headOf(run).waitingFor === waitingFor) return;
  writeHead(run, { waitingFor });
  if (waitingFor !== null) report(run, 'WAITING', { waiting_for: waitingFor });
}

/** Puts a task in the queue at `level`: all tasks of a level are admitted before those of the next. */
export function enqueue(run: KnownRun, task: TaskEntry, level: number): void {
  run.work.put(queueKey(run.runId, level, task.index), 'queue', { taskId: task.task.task_id, level });
  writeHead(run, { queued: headOf(run).queued + 1 });
}

function openNext(run: KnownRun): void {
  const config = configOf(run);
  const [next] = run.work.scan<{ taskId: string; level: number }>(queuePrefix(run.runId));
  if (!next) throw new Error(`run ${run.runId}: queued tasks are missing`);
  const [key, { taskId, level }] = next;
  const task = run.work.get<TaskEntry>(taskKey(run.runId, taskId));
  if (!task) throw new Error(`run ${run.runId}: queued task ${taskId} is missing`);
  run.work.remove(key);
  writeHead(run, { queued: headOf(run).queued - 1, level });
  const admitted: TaskEntry = { ...task, admitted: task.admitted + 1 };
  run.work.put(taskKey(run.runId, taskId), 'task', admitted);
  if (config.repeat_tasks || admitted.admitted < task.repeat) enqueue(run, admitted, level + 1);

  const groupId = groupIdFor(run.runId, taskId, task.admitted);
  const launches = config.purpose === 'TRAIN' ? config.group.budget : config.group.size;
  const entry: RunGroupEntry = { groupId, taskId, state: 'OPEN', inFlight: launches, members: [], oldestVersion: null };
  run.work.put(groupKey(run.runId, groupId), 'group', entry);
  const head = headOf(run);
  writeHead(run, {
    openGroups: head.openGroups + 1,
    groupsOpened: head.groupsOpened + 1,
    inFlight: head.inFlight + launches,
  });
  run.work.emit('group.opened', {
    run_id: run.runId,
    group_id: groupId,
    admission: task.admitted,
    task: task.task,
    spec: {
      purpose: config.purpose,
      harnesses: config.harnesses,
      policy: config.policy,
      group: config.group,
      estimator: config.estimator,
      limits: config.limits,
      scorers: config.scorers,
      seed: seedFrom(config.seed, groupId),
    },
    policy_version: head.policyVersion,
    idempotency_key: groupId,
  });
}
