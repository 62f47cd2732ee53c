import { trajectoryIdFor } from '@espalier/contracts';
import type { Placed } from '../log/run-log.ts';
import type { Findings } from '../report/finding.ts';
import type { Check } from './check.ts';
import type { RunIndex } from './run-index.ts';
import { same } from './same.ts';

/** Terminal records and what is published of them: one that counts, unique and rising revisions, nothing altered between. */
export const checkTrajectories: Check = (run, findings) => {
  for (const [attemptId, records] of run.recorded) checkRecords(run, attemptId, records, findings);
  for (const [trajectoryId, revisions] of run.scored) checkRevisions(run, trajectoryId, revisions, findings);
};

function checkRecords(
  run: RunIndex,
  attemptId: string,
  records: readonly Placed<'trajectory.recorded'>[],
  findings: Findings,
): void {
  const [first, ...late] = records;
  if (!first) return;
  for (const record of late)
    findings.warning(
      'TRAJECTORY_LATE',
      record,
      `attempt ${attemptId} was recorded before (offset ${first.offset}, epoch ${first.value.epoch}); this one, epoch ${record.value.epoch}, does not count`,
    );
  for (const record of records) {
    const { trajectory_id, status, failure, stop_reason } = record.value;
    if (trajectory_id !== trajectoryIdFor(attemptId))
      findings.violation('ID_INVALID', record, `${trajectory_id} is not the trajectory of ${attemptId}`);
    if ((status === 'FAILED' || status === 'CANCELLED') && !failure)
      findings.violation('FAILURE_UNEXPLAINED', record, `attempt ${attemptId}: ${status} without a failure`);
    if (status === 'COMPLETED' && failure?.class === 'INFRA')
      findings.violation('FAILURE_UNEXPLAINED', record, `attempt ${attemptId}: ${stop_reason} in spite of a failure`);
  }
  const ending = run.endings.get(attemptId)?.[0];
  const counted = countedRecord(run, attemptId, records);
  if (!counted && ending?.value.trajectory_id)
    findings.violation('EPOCH_NOT_GRANTED', ending, `attempt ${attemptId} counts, but no record of it was granted`);
  if (ending && counted && !run.scored.has(counted.value.trajectory_id)) checkFailure(ending, counted, findings);
}

/** A failure that ended an attempt without being scored is the one recorded, or the group's own. */
function checkFailure(
  ending: Placed<'rollout.ended'>,
  record: Placed<'trajectory.recorded'>,
  findings: Findings,
): void {
  const { outcome, failure, trajectory_id: id, attempt_id } = ending.value;
  if (id === null || (outcome !== 'FAILED' && outcome !== 'REPLACED')) return;
  const groupsOwn = /^(SCORER|PROCESSOR|ATTEMPT)_/.test(failure?.code ?? '');
  if (groupsOwn || same(failure, record.value.failure)) return;
  findings.violation(
    'FAILURE_DIFFERS',
    ending,
    `attempt ${attempt_id}: ended by ${failure?.code}, recorded ${record.value.failure?.code} (offset ${record.offset})`,
  );
}

/** The record that the group took: the first under the epoch held then. */
export function countedRecord(
  run: RunIndex,
  attemptId: string,
  records: readonly Placed<'trajectory.recorded'>[] = run.recorded.get(attemptId) ?? [],
): Placed<'trajectory.recorded'> | undefined {
  const grants = run.grants.get(attemptId) ?? [];
  return records.find(
    ({ value }) =>
      value.epoch === 0 ||
      run.truncated('rollout.ruled') ||
      grants.some((grant) => grant.value.epoch === value.epoch && grant.value.claim_id === value.claim_id),
  );
}

function checkRevisions(
  run: RunIndex,
  trajectoryId: string,
  revisions: readonly Placed<'trajectory.scored'>[],
  findings: Findings,
): void {
  let next = 0;
  for (const event of revisions) {
    const { revision, attempt_id: attemptId, status, body, snapshot, counts } = event.value;
    if (revision < next)
      findings.violation('REVISION_REPEATED', event, `${trajectoryId} revision ${revision} was published before`);
    else if (revision > next && !run.truncated('trajectory.scored'))
      findings.violation('REVISION_MISSING', event, `${trajectoryId}: revision ${next} was never published`);
    next = Math.max(next, revision + 1);
    const record = countedRecord(run, attemptId);
    if (!record) {
      if (!run.truncated('trajectory.recorded'))
        findings.violation('TRAJECTORY_MISSING', event, `${trajectoryId} is scored but not recorded`);
      continue;
    }
    const { value } = record;
    const equal =
      value.trajectory_id === trajectoryId &&
      value.status === status &&
      value.policy_version_min === event.value.policy_version_min &&
      value.policy_version_max === event.value.policy_version_max &&
      same(value.body, body) &&
      same(value.snapshot, snapshot) &&
      same(value.counts, counts);
    if (!equal)
      findings.violation(
        'TRAJECTORY_DIFFERS',
        event,
        `${trajectoryId} revision ${revision} is not what was recorded (trajectory.recorded offset ${record.offset})`,
      );
  }
}
