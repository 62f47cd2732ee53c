import type { GroupMember, RunConfig, RunState, TaskSpec } from '@espalier/contracts';

/** A run's changing part. Counters are derived from the log alone, so that they survive every restart. */
export type RunHead = {
  readonly runId: string;
  readonly state: RunState;
  /** Why a paused run is paused: `COMMAND` or `BREAKER`. */
  readonly pausedBy: string | null;
  readonly tasksClosed: boolean;
  /** Why a draining run drains: `TARGET`, `TASKS_DONE` or `CANCEL`. */
  readonly endReason: string | null;
  readonly waitingFor: string | null;
  readonly taskCount: number;
  /** Tasks that may still be admitted. */
  readonly queued: number;
  /** Level of the task admitted last: how often it had been admitted before. */
  readonly level: number;
  readonly openGroups: number;
  /** Rollouts that open groups may still have running. */
  readonly inFlight: number;
  readonly groupsOpened: number;
  readonly groupsDecided: number;
  readonly groupsFiltered: number;
  /** Trajectories accepted and not filtered since: pooled, offered or trained. */
  readonly accepted: number;
  readonly pooledGroups: number;
  readonly nextPool: number;
  readonly attemptsEnded: number;
  readonly attemptsFailed: number;
  readonly rolloutsCounted: number;
  readonly offeredSeq: number;
  readonly trainedSeq: number;
  readonly policyVersion: number;
  readonly newestVersion: number;
  readonly learnerEpoch: number;
  readonly learnerId: string | null;
};

/** A submitted task. */
export type TaskEntry = {
  readonly index: number;
  readonly task: TaskSpec;
  readonly repeat: number;
  readonly admitted: number;
  readonly digest: string;
};

/** An admitted group as its run sees it. */
export type RunGroupEntry = {
  readonly groupId: string;
  readonly taskId: string;
  readonly state: 'OPEN' | 'POOLED' | 'OFFERED';
  /** Rollouts that may still run. */
  readonly inFlight: number;
  /** POOLED and OFFERED: the selected members, in the order chosen. */
  readonly members: readonly GroupMember[];
  /** Oldest sampled version of the members. */
  readonly oldestVersion: number | null;
};

/** An assembled batch. Its manifest is made of its groups' entries. */
export type BatchRecord = {
  readonly seq: number;
  readonly partial: boolean;
  readonly groupIds: readonly string[];
  readonly digest: string;
  readonly policyVersion: number;
};

export type PolicyRecord = {
  readonly version: number;
  readonly afterBatch: number;
  readonly checkpoint: string | null;
  readonly endpoints: readonly string[];
};

export type CheckpointRecord = { readonly checkpoint: string; readonly seq: number };

/** A command's verdict, for its retries. */
export type CommandRecord = {
  readonly accepted: boolean;
  readonly code: string | null;
  readonly message: string;
  /** LEARNER: the session opened, and the first batch it is offered. */
  readonly learnerEpoch?: number;
  readonly nextSeq?: number;
};

/** Outcomes of the last attempts, newest last: for the circuit breaker and the pass rate. */
export type RecentRecord = {
  /** 1 where the attempt failed for an infrastructure reason. */
  readonly infra: readonly number[];
  /** 1 where a scored trajectory passed. */
  readonly passed: readonly number[];
};

export type ParkedTask = { readonly event: { readonly [field: string]: unknown }; readonly parkedAt: number };

export type ConfigEntry = { readonly config: RunConfig; readonly digest: string; readonly submittedBy: string };

const pad = (value: number): string => String(value).padStart(9, '0');

export const runKey = (runId: string, part: string): string => `run/${runId}/${part}`;
export const headKey = (runId: string): string => runKey(runId, 'head');
export const configKey = (runId: string): string => runKey(runId, 'config');
export const recentKey = (runId: string): string => runKey(runId, 'recent');
export const taskKey = (runId: string, taskId: string): string => runKey(runId, `task/${taskId}`);
export const queuePrefix = (runId: string): string => runKey(runId, 'queue/');
export const queueKey = (runId: string, level: number, index: number): string =>
  `${queuePrefix(runId)}${pad(level)}/${pad(index)}`;
export const groupPrefix = (runId: string): string => runKey(runId, 'group/');
export const groupKey = (runId: string, groupId: string): string => `${groupPrefix(runId)}${groupId}`;
export const poolPrefix = (runId: string): string => runKey(runId, 'pool/');
export const poolKey = (runId: string, order: number): string => `${poolPrefix(runId)}${pad(order)}`;
export const batchKey = (runId: string, seq: number): string => runKey(runId, `batch/${pad(seq)}`);
export const policyKey = (runId: string, version: number): string => runKey(runId, `policy/${pad(version)}`);
export const policyPrefix = (runId: string): string => runKey(runId, 'policy/');
export const checkpointKey = (runId: string, digest: string): string => runKey(runId, `checkpoint/${digest}`);
export const commandKey = (runId: string, commandId: string): string => runKey(runId, `command/${commandId}`);
export const parkedPrefix = (runId: string): string => `parked/${runId}/`;
export const parkedKey = (runId: string, taskId: string): string => `${parkedPrefix(runId)}${taskId}`;

export const parkTimer = (runId: string, taskId: string): string => `park|${runId}|${taskId}`;
export const commandTimer = (runId: string, commandId: string): string => `command|${runId}|${commandId}`;
