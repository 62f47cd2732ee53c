import { isDeepStrictEqual } from 'node:util';
import { batchIdFor, type BatchEntry } from '@espalier/contracts';
import type { Placed } from '../log/run-log.ts';
import type { Findings } from '../report/finding.ts';
import type { Check } from './check.ts';
import { groupBy, type RunIndex } from './run-index.ts';

/**
 * Batches: numbered without holes, the same whenever offered again, made of selected members of decided groups as they were
 * decided, each trajectory in one batch only.
 */
export const checkBatches: Check = (run, findings) => {
  const offers = run.log.of('batch.offered');
  const firsts = new Map<number, Placed<'batch.offered'>>();
  let epoch = 0;
  for (const offer of offers) {
    const { seq, learner_epoch } = offer.value;
    if (learner_epoch < epoch)
      findings.violation(
        'LEARNER_EPOCH_FELL',
        offer,
        `batch ${seq} is offered to session ${learner_epoch} after ${epoch}`,
      );
    epoch = Math.max(epoch, learner_epoch);
    const first = firsts.get(seq);
    if (first) checkAgain(first, offer, findings);
    else {
      if (seq !== 1 && !firsts.has(seq - 1) && !run.truncated('batch.offered'))
        findings.violation('BATCH_MISSING', offer, `batch ${seq} is offered, batch ${seq - 1} never was before`);
      firsts.set(seq, offer);
      checkFirst(run, offer, findings);
    }
  }
  const total = firsts.size === 0 ? 0 : Math.max(...firsts.keys());
  checkCounted(run, total, findings);
  checkPool(run, findings);
};

function checkAgain(first: Placed<'batch.offered'>, offer: Placed<'batch.offered'>, findings: Findings): void {
  const { seq, digest, entries, batch_id, partial, policy_version } = offer.value;
  const same =
    first.value.digest === digest &&
    first.value.batch_id === batch_id &&
    first.value.partial === partial &&
    first.value.policy_version === policy_version &&
    isDeepStrictEqual(first.value.entries, entries);
  if (!same)
    findings.violation(
      'BATCH_ALTERED',
      offer,
      `batch ${seq} is offered again, not as it was at offset ${first.offset}`,
    );
  if (first.value.learner_epoch === offer.value.learner_epoch)
    findings.violation(
      'BATCH_REPEATED',
      offer,
      `batch ${seq} is offered twice to session ${offer.value.learner_epoch}`,
    );
}

function checkFirst(run: RunIndex, offer: Placed<'batch.offered'>, findings: Findings): void {
  const { seq, batch_id, entries, partial, digest } = offer.value;
  const wrong = (message: string): void => findings.violation('BATCH_CONTRADICTS', offer, `batch ${seq}: ${message}`);
  if (batch_id !== batchIdFor(run.log.runId, seq))
    findings.violation('ID_INVALID', offer, `batch ${seq} is ${batch_id}`);
  const size = run.submitted?.value.config.batch.size;
  if (size !== undefined && (partial ? entries.length > size : entries.length !== size))
    wrong(`${entries.length} entries, configured are ${size}`);
  if (!/^[0-9a-f]{64}$/.test(digest)) wrong(`its digest "${digest}" is no SHA-256`);
  const seen = new Set<string>();
  for (const entry of entries) {
    const { trajectory_id: id } = entry;
    const home = run.batchOf.get(id);
    if (seen.has(id)) wrong(`holds ${id} twice`);
    else if (home && home.value.seq !== seq)
      findings.violation('TRAJECTORY_IN_TWO_BATCHES', offer, `${id} is in batch ${home.value.seq} and in batch ${seq}`);
    seen.add(id);
    checkEntry(run, offer, entry, findings);
  }
  for (const [groupId, members] of groupBy(entries, (entry) => entry.group_id)) {
    const selected = run.decisions.get(groupId)?.[0]?.value.members.filter((member) => member.selected).length;
    if (selected !== undefined && selected !== members.length)
      wrong(`holds ${members.length} of the ${selected} selected trajectories of group ${groupId}`);
  }
}

function checkEntry(run: RunIndex, offer: Placed<'batch.offered'>, entry: BatchEntry, findings: Findings): void {
  const { trajectory_id: id, group_id } = entry;
  const decided = run.decisions.get(group_id)?.[0];
  const member = decided?.value.members.find((candidate) => candidate.trajectory_id === id);
  if (!decided || !member) {
    if (!run.truncated('group.decided'))
      findings.violation('DECISION_MISSING', offer, `${id} is offered, its group ${group_id} never decided on it`);
    return;
  }
  const same =
    member.selected &&
    member.reward === entry.reward &&
    member.advantage === entry.advantage &&
    decided.value.task_id === entry.task_id &&
    isDeepStrictEqual(member.body, entry.body) &&
    member.counts.samples === entry.samples &&
    member.counts.sampled_tokens === entry.sampled_tokens &&
    member.policy_version_min === entry.policy_version_min &&
    member.policy_version_max === entry.policy_version_max;
  if (!same)
    findings.violation(
      'BATCH_ENTRY_DIFFERS',
      offer,
      `${id} is not offered as it was decided (group.decided offset ${decided.offset})`,
    );
  if (run.endings.get(member.attempt_id)?.[0]?.value.outcome !== 'POOLED' && !run.truncated('rollout.ended'))
    findings.violation('ENDING_MISSING', offer, `${id} is offered, but its attempt did not end as pooled`);
}

/** What the run says it offered and trained was offered. */
function checkCounted(run: RunIndex, total: number, findings: Findings): void {
  for (const report of run.log.of('run.reported')) {
    const { progress, trained_seq } = report.value;
    const said = Math.max(progress?.batches_offered ?? 0, trained_seq ?? 0);
    if (said > total && !run.truncated('batch.offered'))
      findings.violation('BATCH_MISSING', report, `the run speaks of batch ${said}, offered are ${total}`);
  }
}

/** When the run has ended, nothing waits in the pool: what no batch holds was swept as a whole group. */
function checkPool(run: RunIndex, findings: Findings): void {
  if (!run.ended || run.truncated('batch.offered')) return;
  for (const [attemptId, [ending]] of run.endings) {
    if (ending?.value.outcome !== 'POOLED' || ending.value.trajectory_id === null) continue;
    if (run.batchOf.has(ending.value.trajectory_id) || run.sweptReason(ending.value.group_id) !== null) continue;
    findings.violation('POOL_LEFT', ending, `attempt ${attemptId} is pooled, yet the run ended`);
  }
}
