import { dropPool, settleRemainder } from './batches.ts';
import { configOf, headOf, passRateOf, recentOf, report, writeHead, type KnownRun } from './context.ts';
import { groupPrefix, type RunGroupEntry } from './entries.ts';

/** Begins the end of a run when its target is met or nothing is left to do; ends it when no group is open. */
export function progress(run: KnownRun): void {
  const head = headOf(run);
  if (head.state === 'ACTIVE' || head.state === 'PAUSED') {
    const reached = targetReached(run);
    if (reached !== null) drain(run, 'TARGET', reached);
    else if (tasksDone(run)) drain(run, 'TASKS_DONE', 'all tasks are rolled out');
  }
  if (headOf(run).state === 'DRAINING' && headOf(run).openGroups === 0) end(run);
}

function targetReached(run: KnownRun): string | null {
  const { target } = configOf(run);
  const head = headOf(run);
  const rate = passRateOf(run);
  if (target.batches !== null && head.trainedSeq >= target.batches) return `${head.trainedSeq} batches trained`;
  if (
    target.pass_rate !== null &&
    rate !== null &&
    recentOf(run).passed.length >= target.pass_rate_window &&
    rate >= target.pass_rate
  )
    return `pass rate ${rate.toFixed(3)} over the last ${target.pass_rate_window} scored trajectories`;
  if (target.rollouts !== null && head.rolloutsCounted >= target.rollouts) return `${head.rolloutsCounted} rollouts`;
  return null;
}

function tasksDone(run: KnownRun): boolean {
  const head = headOf(run);
  const closed = head.tasksClosed || (configOf(run).close_when_done && head.taskCount > 0);
  return closed && head.queued === 0 && head.openGroups === 0;
}

/** No more admissions. At a target or a cancellation the groups still open are cancelled. */
export function drain(run: KnownRun, endReason: 'TARGET' | 'TASKS_DONE' | 'CANCEL', message: string): void {
  writeHead(run, { state: 'DRAINING', endReason, waitingFor: null });
  report(run, 'STATE', { message });
  if (endReason === 'TASKS_DONE') return;
  for (const [, entry] of run.work.scan<RunGroupEntry>(groupPrefix(run.runId)))
    if (entry.state === 'OPEN')
      run.work.emit('group.commanded', {
        run_id: run.runId,
        group_id: entry.groupId,
        command: 'CANCEL',
        reason: endReason === 'CANCEL' ? 'RUN_CANCELLED' : 'RUN_ENDED',
        idempotency_key: `${entry.groupId}#${endReason}`,
      });
}

function end(run: KnownRun): void {
  const cancelled = headOf(run).endReason === 'CANCEL';
  if (cancelled) dropPool(run);
  else settleRemainder(run);
  writeHead(run, { state: cancelled ? 'CANCELLED' : 'COMPLETED', waitingFor: null });
  report(run, 'ENDED', { message: cancelled ? 'cancelled' : (headOf(run).endReason ?? '') });
}
