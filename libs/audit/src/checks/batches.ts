import { batchIdFor, type BatchEntry } from '@espalier/contracts';
import type { Placed } from '../log/run-log.ts';
import type { Findings } from '../report/finding.ts';
import { digestOf } from './canonical-digest.ts';
import type { Check } from './check.ts';
import { groupBy, type RunIndex } from './run-index.ts';
import { same } from './same.ts';

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
  checkRewinds(run, findings);
  checkPool(run, findings);
};

function checkAgain(first: Placed<'batch.offered'>, offer: Placed<'batch.offered'>, findings: Findings): void {
  const { seq, digest, entries, batch_id, partial, policy_version } = offer.value;
  const equal =
    first.value.digest === digest &&
    first.value.batch_id === batch_id &&
    first.value.partial === partial &&
    first.value.policy_version === policy_version &&
    same(first.value.entries, entries);
  if (!equal)
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
  if (digest !== digestOf(entries)) wrong('its digest is not that of its entries');
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
  const equal =
    member.selected &&
    member.reward === entry.reward &&
    member.advantage === entry.advantage &&
    decided.value.task_id === entry.task_id &&
    same(member.body, entry.body) &&
    member.counts.samples === entry.samples &&
    member.counts.sampled_tokens === entry.sampled_tokens &&
    member.policy_version_min === entry.policy_version_min &&
    member.policy_version_max === entry.policy_version_max;
  if (!equal)
    findings.violation(
      'BATCH_ENTRY_DIFFERS',
      offer,
      `${id} is not offered as it was decided (group.decided offset ${decided.offset})`,
    );
  if (run.endings.get(member.attempt_id)?.[0]?.value.outcome !== 'POOLED' && !run.truncated('rollout.ended'))
    findings.violation('ENDING_MISSING', offer, `${id} is offered, but its attempt did not end as pooled`);
}

/**
 * A learner that opens a session is offered everything after its checkpoint again: each of those batches was offered to an
 * earlier session, and is to this one.
 */
function checkRewinds(run: RunIndex, findings: Findings): void {
  if (run.truncated('batch.offered')) return;
  const offers = run.log.of('batch.offered');
  const answered = new Set<string | null>();
  for (const report of run.log.of('run.reported')) {
    const { kind, accepted, learner_epoch, next_seq, progress, command_id } = report.value;
    // A join that is sent again gets its verdict again, when batches may have been offered since.
    if (kind === 'LEARNER' && answered.has(command_id)) continue;
    if (kind === 'LEARNER') answered.add(command_id);
    if (kind !== 'LEARNER' || accepted !== true || learner_epoch === null || next_seq === null) continue;
    for (let seq = next_seq; seq <= (progress?.batches_offered ?? 0); seq += 1) {
      const epochs = offers.filter(({ value }) => value.seq === seq).map(({ value }) => value.learner_epoch);
      if (!epochs.some((epoch) => epoch < learner_epoch))
        findings.violation(
          'BATCH_MISSING',
          report,
          `batch ${seq} was offered before session ${learner_epoch}, yet is not`,
        );
      if (!epochs.some((epoch) => epoch >= learner_epoch) && run.settled(report))
        findings.violation('BATCH_MISSING', report, `batch ${seq} was not offered again to session ${learner_epoch}`);
    }
  }
}

/** What the run says it has counted is in the log. */
function checkCounted(run: RunIndex, total: number, findings: Findings): void {
  const ended = run.log.of('rollout.ended').length;
  const tasks = new Set(run.log.of('task.submitted').map(({ value }) => value.task_id)).size;
  for (const report of run.log.of('run.reported')) {
    const { progress, trained_seq } = report.value;
    const missing = (what: string, said: number, found: number): void =>
      findings.violation('COUNT_EXCEEDS_LOG', report, `the run counts ${said} ${what}, the log holds ${found}`);
    const batches = Math.max(progress?.batches_offered ?? 0, trained_seq ?? 0);
    if (batches > total && !run.truncated('batch.offered')) missing('batches', batches, total);
    if (!progress) continue;
    if (progress.attempts_ended > ended && !run.truncated('rollout.ended'))
      missing('ended attempts', progress.attempts_ended, ended);
    if (progress.groups_decided > run.decisions.size && !run.truncated('group.decided'))
      missing('decided groups', progress.groups_decided, run.decisions.size);
    if (progress.tasks > tasks && !run.truncated('task.submitted')) missing('tasks', progress.tasks, tasks);
  }
}

/** When the run has ended, nothing waits in the pool: what no batch holds was swept as a whole group. */
function checkPool(run: RunIndex, findings: Findings): void {
  const topics = ['batch.offered', 'group.decided', 'group.commanded'] as const;
  if (!run.ended || topics.some((topic) => run.truncated(topic))) return;
  for (const [attemptId, [ending]] of run.endings) {
    if (ending?.value.outcome !== 'POOLED' || ending.value.trajectory_id === null) continue;
    if (run.batchOf.has(ending.value.trajectory_id) || run.sweptReason(ending.value.group_id) !== null) continue;
    findings.violation('POOL_LEFT', ending, `attempt ${attemptId} is pooled, yet the run ended`);
  }
}
