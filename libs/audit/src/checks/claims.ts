import type { Placed } from '../log/run-log.ts';
import type { Findings } from '../report/finding.ts';
import type { Check } from './check.ts';
import { groupBy, type RunIndex } from './run-index.ts';

/** Claims and rulings: epochs rise, one claim per epoch, no grant without a claim, no work without a grant. */
export const checkClaims: Check = (run, findings) => {
  const reports = groupBy(run.log.of('rollout.reported'), ({ value }) => value.claim_id);
  const rulings = groupBy(run.log.of('rollout.ruled'), ({ value }) => value.work_id);
  for (const [workId, history] of rulings) checkHistory(run, workId, history, reports, findings);
  checkAnswers(run, reports, findings);
  for (const records of run.recorded.values())
    for (const record of records) {
      const { attempt_id, epoch, claim_id } = record.value;
      requireGrant(run, record, attempt_id, epoch, claim_id, findings);
    }
  for (const report of run.log.of('reward.reported')) {
    const { work_id, epoch, claim_id } = report.value;
    requireGrant(run, report, work_id, epoch, claim_id, findings);
  }
};

type Reports = ReadonlyMap<string, readonly Placed<'rollout.reported'>[]>;

function checkHistory(
  run: RunIndex,
  workId: string,
  history: readonly Placed<'rollout.ruled'>[],
  reports: Reports,
  findings: Findings,
): void {
  let highest = 0;
  const holders = new Map<number, string | null>();
  const cancelled = new Map<number, Placed<'rollout.ruled'>>();
  for (const ruling of history) {
    const { verdict, epoch, claim_id: claimId } = ruling.value;
    if (verdict === 'CANCELLED' && holders.get(epoch) === claimId) cancelled.set(epoch, ruling);
    if (verdict === 'CANCELLED' && epoch > 0 && !holders.has(epoch) && holdsLater(history, ruling))
      findings.violation('CLAIM_ORDER', ruling, `${workId}: epoch ${epoch} is cancelled before it is granted`);
    if (verdict !== 'GRANTED') continue;
    const holder = holders.get(epoch);
    if (epoch < 1) findings.violation('EPOCH_INVALID', ruling, `${workId}: granted epoch ${epoch}`);
    else if (holders.has(epoch) && holder !== claimId)
      findings.violation('EPOCH_GRANTED_TWICE', ruling, `${workId}: epoch ${epoch} is ${holder}'s and ${claimId}'s`);
    else if (!holders.has(epoch) && epoch <= highest)
      findings.violation('EPOCH_FELL', ruling, `${workId}: epoch ${epoch} granted after ${highest}`);
    else if (!holders.has(epoch) && epoch > highest + 1 && !run.truncated('rollout.ruled'))
      findings.violation('EPOCH_SKIPPED', ruling, `${workId}: epoch ${epoch} granted after ${highest}`);
    if (cancelled.has(epoch))
      findings.violation('EPOCH_REVIVED', ruling, `${workId}: epoch ${epoch} is granted after it was cancelled`);
    holders.set(epoch, claimId);
    highest = Math.max(highest, epoch);
    const claimed = claimId !== null && reports.get(claimId)?.some(({ value }) => value.kind === 'CLAIMED');
    if (!claimed && !run.truncated('rollout.reported'))
      findings.violation('GRANT_WITHOUT_CLAIM', ruling, `${workId}: nobody reported claim ${claimId}`);
  }
}

const holdsLater = (history: readonly Placed<'rollout.ruled'>[], cancel: Placed<'rollout.ruled'>): boolean =>
  history.some(
    ({ value, offset }) =>
      value.verdict === 'GRANTED' &&
      value.epoch === cancel.value.epoch &&
      value.claim_id === cancel.value.claim_id &&
      offset > cancel.offset,
  );

/** Every claim is answered; word of a claim carries an epoch that was granted to it. */
function checkAnswers(run: RunIndex, reports: Reports, findings: Findings): void {
  const answered = new Set(run.log.of('rollout.ruled').map(({ value }) => value.claim_id));
  for (const [claimId, words] of reports) {
    const claimed = words.find(({ value }) => value.kind === 'CLAIMED');
    const [first] = words;
    if (first && !claimed && !run.truncated('rollout.reported'))
      findings.violation('CLAIM_MISSING', first, `claim ${claimId} is spoken of but was never made`);
    if (claimed && !answered.has(claimId) && run.settled(claimed) && !run.truncated('rollout.ruled'))
      findings.warning('CLAIM_UNANSWERED', claimed, `claim ${claimId} on ${claimed.value.work_id} got no ruling`);
    for (const word of words) {
      const { work_id, epoch, kind } = word.value;
      // Word of a granted claim may lie beyond the cut of the rulings, which are read before the reports. A worker that
      // stops while its claim is not ruled on yet gives it back under no epoch.
      if (kind !== 'CLAIMED') {
        const ungranted = kind === 'RELEASED' && epoch === 0;
        if (!ungranted && run.settled(word)) requireGrant(run, word, work_id, epoch, claimId, findings);
      } else if (epoch !== 0) findings.violation('EPOCH_INVALID', word, `${work_id}: claimed with epoch ${epoch}`);
    }
  }
}

/** Epoch 0 is word outside a claim (dead letters, re-scoring). */
function requireGrant(
  run: RunIndex,
  at: Placed<'trajectory.recorded'> | Placed<'reward.reported'> | Placed<'rollout.reported'>,
  workId: string,
  epoch: number,
  claimId: string,
  findings: Findings,
): void {
  if (epoch === 0 && at.topic !== 'rollout.reported') return;
  const grants = run.grants.get(workId) ?? [];
  if (grants.some(({ value }) => value.epoch === epoch && value.claim_id === claimId)) return;
  if (run.truncated('rollout.ruled')) return;
  findings.violation('EPOCH_NOT_GRANTED', at, `${workId}: epoch ${epoch} was never granted to claim ${claimId}`);
}
