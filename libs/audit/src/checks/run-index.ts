import type { Placed, RunLog } from '../log/run-log.ts';

/** Groups values by a key, in order. */
export function groupBy<V>(values: Iterable<V>, keyOf: (value: V) => string): Map<string, V[]> {
  const groups = new Map<string, V[]>();
  for (const value of values) {
    const key = keyOf(value);
    const list = groups.get(key);
    if (list) list.push(value);
    else groups.set(key, [value]);
  }
  return groups;
}

/** How long the plane has to answer a record before its silence is worth a finding, milliseconds. */
const SETTLED_AFTER_MS = 60_000;

/** Look-ups that several checks share. */
export class RunIndex {
  readonly log: RunLog;
  readonly submitted: Placed<'run.submitted'> | undefined;
  /** The report that ended the run. */
  readonly ended: Placed<'run.reported'> | undefined;
  readonly requested: ReadonlyMap<string, Placed<'rollout.requested'>[]>;
  readonly endings: ReadonlyMap<string, Placed<'rollout.ended'>[]>;
  readonly recorded: ReadonlyMap<string, Placed<'trajectory.recorded'>[]>;
  readonly scored: ReadonlyMap<string, Placed<'trajectory.scored'>[]>;
  readonly decisions: ReadonlyMap<string, Placed<'group.decided'>[]>;
  readonly opened: ReadonlyMap<string, Placed<'group.opened'>[]>;
  readonly commanded: ReadonlyMap<string, Placed<'group.commanded'>[]>;
  /** Rulings that granted, by work id. */
  readonly grants: ReadonlyMap<string, Placed<'rollout.ruled'>[]>;
  /** Attempts that ended as replaced, by group. */
  readonly replacedIn: ReadonlyMap<string, number>;
  /** First offering of every batch that holds a trajectory, by trajectory. */
  readonly batchOf: ReadonlyMap<string, Placed<'batch.offered'>>;

  constructor(log: RunLog) {
    this.log = log;
    this.submitted = log.of('run.submitted')[0];
    this.ended = log.of('run.reported').find(({ value }) => value.kind === 'ENDED');
    this.requested = groupBy(log.of('rollout.requested'), ({ value }) => value.attempt_id);
    this.endings = groupBy(log.of('rollout.ended'), ({ value }) => value.attempt_id);
    this.recorded = groupBy(log.of('trajectory.recorded'), ({ value }) => value.attempt_id);
    this.scored = groupBy(log.of('trajectory.scored'), ({ value }) => value.trajectory_id);
    this.decisions = groupBy(log.of('group.decided'), ({ value }) => value.group_id);
    this.opened = groupBy(log.of('group.opened'), ({ value }) => value.group_id);
    this.commanded = groupBy(log.of('group.commanded'), ({ value }) => value.group_id);
    const granted = log.of('rollout.ruled').filter(({ value }) => value.verdict === 'GRANTED');
    this.grants = groupBy(granted, ({ value }) => value.work_id);
    const replacedIn = new Map<string, number>();
    for (const [ending] of this.endings.values())
      if (ending?.value.outcome === 'REPLACED')
        replacedIn.set(ending.value.group_id, (replacedIn.get(ending.value.group_id) ?? 0) + 1);
    this.replacedIn = replacedIn;
    const batchOf = new Map<string, Placed<'batch.offered'>>();
    for (const offer of log.of('batch.offered')) {
      for (const { trajectory_id: id } of offer.value.entries) if (!batchOf.has(id)) batchOf.set(id, offer);
    }
    this.batchOf = batchOf;
  }

  /** Whether the plane had the time to answer a record: the run has ended since, or a minute passed below the cut. */
  settled(record: { readonly timestamp: number }): boolean {
    return this.longAgo(record) || this.isBeforeEnd(record);
  }

  /** Whether a minute passed between a record and the cut. */
  longAgo(record: { readonly timestamp: number }): boolean {
    return this.log.cut.takenAt - record.timestamp > SETTLED_AFTER_MS;
  }

  private isBeforeEnd(record: { readonly timestamp: number }): boolean {
    return this.ended !== undefined && record.timestamp <= this.ended.timestamp;
  }

  /** Whether records of a topic may be missing here: gone with retention, or there and unreadable (a finding by itself). */
  truncated(topic: RunLog['truncated'][number]): boolean {
    return this.log.truncated.includes(topic) || this.log.unreadable.some((record) => record.topic === topic);
  }

  /** Last batch contained in a durable checkpoint of the current session: a rewind lowers it. */
  get trainedSeq(): number {
    return this.log.of('run.reported').findLast(({ value }) => value.trained_seq !== null)?.value.trained_seq ?? 0;
  }

  /** Why a group was swept from the pool after its decision (`STALE`, `RUN_ENDED`); null when it was not. */
  sweptReason(groupId: string): string | null {
    if (this.decisions.get(groupId)?.[0]?.value.outcome !== 'ADMITTED') return null;
    return this.commanded.get(groupId)?.[0]?.value.reason ?? null;
  }
}
