import { batchIdFor, type BatchEntry, type GroupMember } from '@espalier/contracts';
import { digestOf } from '../state/canonical.ts';
import { configOf, headOf, writeHead, type KnownRun } from './context.ts';
import { batchKey, groupKey, poolKey, poolPrefix, type BatchRecord, type RunGroupEntry } from './entries.ts';

const groupOf = (run: KnownRun, groupId: string): RunGroupEntry => {
  const entry = run.work.get<RunGroupEntry>(groupKey(run.runId, groupId));
  if (!entry) throw new Error(`run ${run.runId}: group ${groupId} is missing`);
  return entry;
};

const pooled = (run: KnownRun): (readonly [string, RunGroupEntry])[] =>
  [...run.work.scan<{ groupId: string }>(poolPrefix(run.runId))].map(([key, { groupId }]) => [
    key,
    groupOf(run, groupId),
  ]);

/** Adds an admitted group to the pool that batches are made of. */
export function pool(run: KnownRun, entry: RunGroupEntry): void {
  const head = headOf(run);
  run.work.put(groupKey(run.runId, entry.groupId), 'group', entry);
  run.work.put(poolKey(run.runId, head.nextPool), 'pool', { groupId: entry.groupId });
  writeHead(run, {
    nextPool: head.nextPool + 1,
    pooledGroups: head.pooledGroups + 1,
    accepted: head.accepted + entry.members.length,
  });
}

/** Takes whole groups whose oldest token is more than eta versions old out of the pool; admission is free at once. */
function sweepStale(run: KnownRun): void {
  const { batch } = configOf(run);
  for (const [key, entry] of pooled(run))
    if (entry.oldestVersion !== null && headOf(run).policyVersion - entry.oldestVersion > batch.max_staleness)
      filterPooled(run, key, entry, 'STALE');
}

function filterPooled(run: KnownRun, key: string, entry: RunGroupEntry, reason: 'STALE' | 'RUN_ENDED'): void {
  const head = headOf(run);
  run.work.remove(key);
  run.work.remove(groupKey(run.runId, entry.groupId));
  writeHead(run, {
    pooledGroups: head.pooledGroups - 1,
    accepted: head.accepted - entry.members.length,
    groupsFiltered: head.groupsFiltered + 1,
  });
  // The group is decided and ignores it; for the audit it is what turns `pooled` into `filtered`.
  run.work.emit('group.commanded', {
    run_id: run.runId,
    group_id: entry.groupId,
    command: reason === 'STALE' ? 'STALE' : 'CANCEL',
    reason,
    idempotency_key: `${entry.groupId}#${reason}`,
  });
}

/** Most batches that may be out unacknowledged. */
const window = (run: KnownRun): number => {
  const { batch } = configOf(run);
  return (batch.max_staleness + 1) * batch.batches_per_version;
};

/** Assembles and offers every batch that the pool can fill. */
export function assemble(run: KnownRun): void {
  const { batch, purpose } = configOf(run);
  if (purpose !== 'TRAIN') return;
  for (;;) {
    if (headOf(run).offeredSeq - headOf(run).trainedSeq >= window(run)) return;
    sweepStale(run);
    const chosen: (readonly [string, RunGroupEntry])[] = [];
    let size = 0;
    for (const item of pooled(run)) {
      if (size === batch.size) break;
      chosen.push(item);
      size += item[1].members.length;
    }
    if (size < batch.size) return;
    offerNew(run, chosen, false);
  }
}

/** At the end of a run: what the pool still holds is a partial batch, or filtered, as configured. */
export function settleRemainder(run: KnownRun): void {
  assemble(run);
  sweepStale(run);
  const rest = pooled(run);
  if (rest.length === 0) return;
  if (configOf(run).batch.partial_remainder) offerNew(run, rest, true);
  else for (const [key, entry] of rest) filterPooled(run, key, entry, 'RUN_ENDED');
}

/** A cancelled run offers nothing more. */
export function dropPool(run: KnownRun): void {
  for (const [key, entry] of pooled(run)) filterPooled(run, key, entry, 'RUN_ENDED');
}

function offerNew(run: KnownRun, chosen: readonly (readonly [string, RunGroupEntry])[], partial: boolean): void {
  const head = headOf(run);
  const seq = head.offeredSeq + 1;
  for (const [key, entry] of chosen) {
    run.work.remove(key);
    run.work.put(groupKey(run.runId, entry.groupId), 'group', { ...entry, state: 'OFFERED' });
  }
  const record: BatchRecord = {
    seq,
    partial,
    groupIds: chosen.map(([, entry]) => entry.groupId),
    digest: digestOf(chosen.flatMap(([, entry]) => entriesOf(entry))),
    policyVersion: head.policyVersion,
  };
  run.work.put(batchKey(run.runId, seq), 'batch', record);
  writeHead(run, { offeredSeq: seq, pooledGroups: head.pooledGroups - chosen.length });
  offer(run, record);
}

/** Produces a batch's manifest: the same entries and digest whenever it is offered again. */
export function offer(run: KnownRun, record: BatchRecord): void {
  const epoch = headOf(run).learnerEpoch;
  run.work.emit('batch.offered', {
    run_id: run.runId,
    batch_id: batchIdFor(run.runId, record.seq),
    seq: record.seq,
    partial: record.partial,
    entries: record.groupIds.flatMap((groupId) => entriesOf(groupOf(run, groupId))),
    digest: record.digest,
    policy_version: record.policyVersion,
    learner_epoch: epoch,
    idempotency_key: `${batchIdFor(run.runId, record.seq)}#${epoch}`,
  });
}

const entriesOf = (group: RunGroupEntry): BatchEntry[] => group.members.map((member) => entryOf(group, member));

function entryOf(group: RunGroupEntry, member: GroupMember): BatchEntry {
  if (!member.body || member.reward === null || member.advantage === null)
    throw new Error(`trajectory ${member.trajectory_id} is selected without body, reward or advantage`);
  return {
    trajectory_id: member.trajectory_id,
    group_id: group.groupId,
    task_id: group.taskId,
    reward: member.reward,
    advantage: member.advantage,
    body: member.body,
    samples: member.counts.samples,
    sampled_tokens: member.counts.sampled_tokens,
    policy_version_min: member.policy_version_min,
    policy_version_max: member.policy_version_max,
  };
}
