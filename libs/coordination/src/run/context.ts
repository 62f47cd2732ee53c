import type { RunConfig, RunReportedBody, RunReportKind } from '@espalier/contracts';
import type { Workspace } from '../state/workspace.ts';
import type { Timings } from '../timings.ts';
import { configKey, headKey, recentKey, type ConfigEntry, type RecentRecord, type RunHead } from './entries.ts';

/** A known run inside one decision. */
export interface KnownRun {
  readonly work: Workspace;
  readonly timings: Timings;
  readonly runId: string;
}

export const findRun = (work: Workspace, timings: Timings, runId: string): KnownRun | undefined =>
  work.get<RunHead>(headKey(runId)) && { work, timings, runId };

export function headOf(run: KnownRun): RunHead {
  const head = run.work.get<RunHead>(headKey(run.runId));
  if (!head) throw new Error(`run ${run.runId} has no head`);
  return head;
}

export function configOf(run: KnownRun): RunConfig {
  const entry = run.work.get<ConfigEntry>(configKey(run.runId));
  if (!entry) throw new Error(`run ${run.runId} has no configuration`);
  return entry.config;
}

export const writeHead = (run: KnownRun, change: Partial<RunHead>): void =>
  run.work.put(headKey(run.runId), 'run-head', { ...headOf(run), ...change });

export const recentOf = (run: KnownRun): RecentRecord =>
  run.work.get<RecentRecord>(recentKey(run.runId)) ?? { infra: [], passed: [] };

/** Share of passes among the last scored trajectories; null before the first. */
export function passRateOf(run: KnownRun): number | null {
  const { passed } = recentOf(run);
  return passed.length === 0 ? null : passed.reduce((sum, one) => sum + one, 0) / passed.length;
}

/** Reports with the run's state and counters filled in. */
export function report(run: KnownRun, kind: RunReportKind, more: Partial<RunReportedBody> = {}): void {
  const head = headOf(run);
  run.work.emit('run.reported', {
    run_id: run.runId,
    kind,
    state: head.state,
    waiting_for: head.waitingFor,
    learner_epoch: head.learnerEpoch,
    trained_seq: head.trainedSeq,
    policy_version: head.policyVersion,
    progress: {
      tasks: head.taskCount,
      open_groups: head.openGroups,
      groups_decided: head.groupsDecided,
      groups_filtered: head.groupsFiltered,
      attempts_ended: head.attemptsEnded,
      attempts_failed: head.attemptsFailed,
      accepted: head.accepted,
      batches_offered: head.offeredSeq,
      batches_trained: head.trainedSeq,
      pass_rate: passRateOf(run),
    },
    ...more,
  });
}

/** A run that still admits, decides or assembles. */
export const isLive = (run: KnownRun): boolean => {
  const { state } = headOf(run);
  return state === 'ACTIVE' || state === 'PAUSED' || state === 'DRAINING';
};
