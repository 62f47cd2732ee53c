import type { Reward } from '@espalier/contracts';
import type { Placed } from '../log/run-log.ts';
import type { Findings } from '../report/finding.ts';
import type { Check } from './check.ts';
import { groupBy, type RunIndex } from './run-index.ts';
import { same } from './same.ts';

/**
 * Where every number came from: a score has a status that carries one, was given by a scorer that was asked, and reached
 * the published trajectory unaltered; a failure of the infrastructure never became a number.
 */
export const checkRewards: Check = (run, findings) => {
  const requests = new Map(run.log.of('scoring.requested').map((request) => [request.value.work_id, request]));
  const reports = groupBy(run.log.of('reward.reported'), ({ value }) => value.trajectory_id);
  for (const report of run.log.of('reward.reported')) checkReport(run, report, requests, findings);
  checkRequests(run, findings);
  for (const [trajectoryId, revisions] of run.scored) {
    const given = reports.get(trajectoryId) ?? [];
    for (const event of revisions) checkScored(run, event, given, findings);
    checkUsed(run, revisions, given, findings);
  }
};

const scorerOf = ({ scorer, scorer_version }: Pick<Reward, 'scorer' | 'scorer_version'>): string =>
  `${scorer}@${scorer_version}`;
const carriesScore = (reward: Reward): boolean => reward.status === 'OK' || reward.status === 'GATED';

function checkVerdict(
  at: Placed<'reward.reported'> | Placed<'trajectory.scored'>,
  reward: Reward,
  findings: Findings,
): void {
  const { status, score, failure } = reward;
  if (score !== null && !carriesScore(reward))
    findings.violation('REWARD_UNTRUSTED', at, `${scorerOf(reward)}: score ${score} with status ${status}`);
  if (score === null && status === 'OK')
    findings.violation('REWARD_UNTRUSTED', at, `${scorerOf(reward)}: status OK without a score`);
  if (score !== null && failure?.class === 'INFRA')
    findings.violation('REWARD_OF_FAILURE', at, `${scorerOf(reward)}: score ${score} in spite of ${failure.code}`);
}

function checkReport(
  run: RunIndex,
  report: Placed<'reward.reported'>,
  requests: ReadonlyMap<string, Placed<'scoring.requested'>>,
  findings: Findings,
): void {
  const { work_id: workId, reward, trajectory_id, attempt_id } = report.value;
  checkVerdict(report, reward, findings);
  const request = requests.get(workId);
  if (!request) {
    if (!run.truncated('scoring.requested'))
      findings.violation('SCORING_NOT_REQUESTED', report, `${workId} is answered but was never requested`);
    return;
  }
  const { value } = request;
  if (value.trajectory_id !== trajectory_id || value.attempt_id !== attempt_id)
    findings.violation('SCORING_DIFFERS', report, `${workId} was requested for ${value.trajectory_id}`);
  if (scorerOf(reward) !== `${value.scorer}@${value.scorer_version}`)
    findings.violation('SCORING_DIFFERS', report, `${workId} is answered by ${scorerOf(reward)}`);
}

/** A scoring is requested for a recorded trajectory, by a scorer of the run, with the snapshot that was recorded. */
function checkRequests(run: RunIndex, findings: Findings): void {
  for (const request of run.log.of('scoring.requested')) {
    const { work_id, attempt_id, trajectory_id, scorer, scorer_version, group_id, snapshot, body } = request.value;
    if (!work_id.startsWith(`${trajectory_id}/${scorer}@${scorer_version}#`))
      findings.violation('ID_INVALID', request, `${work_id} is not a scoring of ${trajectory_id} by ${scorer}`);
    const records = run.recorded.get(attempt_id) ?? [];
    if (run.truncated('trajectory.recorded')) continue;
    if (records.length === 0)
      findings.violation('TRAJECTORY_MISSING', request, `${work_id}: its trajectory is not recorded`);
    else if (!records.some(({ value }) => same([value.snapshot, value.body], [snapshot, body])))
      findings.violation('SCORING_DIFFERS', request, `${work_id}: snapshot or body is not what was recorded`);
    const scorers = run.opened.get(group_id)?.[0]?.value.spec.scorers;
    if (scorers && !scorers.some(({ name, version }) => name === scorer && version === scorer_version))
      findings.warning('SCORER_FOREIGN', request, `${work_id}: ${scorer} is no scorer of the run (re-scoring)`);
  }
}

/** Independent of the code that combines: a required scorer without a score makes the whole null; else weights add up. */
function checkScored(
  run: RunIndex,
  event: Placed<'trajectory.scored'>,
  given: readonly Placed<'reward.reported'>[],
  findings: Findings,
): void {
  const { trajectory_id: id, reward, passed, rewards, group_id } = event.value;
  for (const verdict of rewards) {
    checkVerdict(event, verdict, findings);
    if (verdict.score === null) continue;
    const source = given.find(
      ({ value }) => scorerOf(value.reward) === scorerOf(verdict) && carriesScore(value.reward),
    );
    if (!source) {
      if (!run.truncated('reward.reported'))
        findings.violation('REWARD_FROM_NOWHERE', event, `${id}: ${scorerOf(verdict)} reported no score`);
    } else if (
      !given.some(({ value }) => scorerOf(value.reward) === scorerOf(verdict) && value.reward.score === verdict.score)
    ) {
      findings.violation(
        'REWARD_ALTERED',
        event,
        `${id}: ${scorerOf(verdict)} said ${source.value.reward.score}, published ${verdict.score}`,
      );
    }
  }
  const missing = rewards.find((verdict) => verdict.required && verdict.score === null && verdict.status !== 'GATED');
  const expected = missing ? null : sumOf(rewards);
  if (
    expected === null
      ? reward !== null
      : reward === null || Math.abs(reward - expected) > 1e-9 * Math.max(1, Math.abs(expected))
  )
    findings.violation('REWARD_SUM', event, `${id}: reward ${reward}, its verdicts give ${expected}`);
  if (passed !== (reward === null ? null : reward > 0))
    findings.violation('REWARD_SUM', event, `${id}: reward ${reward} with passed ${passed}`);
  const scorers = run.opened.get(group_id)?.[0]?.value.spec.scorers ?? [];
  const absent = scorers.find(
    (scorer) => scorer.required && !rewards.some((verdict) => verdict.scorer === scorer.name),
  );
  if (absent)
    findings.violation('REWARD_INCOMPLETE', event, `${id}: published without ${absent.name}@${absent.version}`);
}

function sumOf(rewards: readonly Reward[]): number | null {
  let sum: number | null = null;
  for (const verdict of rewards) {
    if (!carriesScore(verdict)) continue;
    sum = (sum ?? 0) + (verdict.status === 'GATED' ? 0 : verdict.weight * (verdict.score ?? 0));
  }
  return sum;
}

/** A score that was given is published, first or in a later revision, unless its attempt was abandoned before. */
function checkUsed(
  run: RunIndex,
  revisions: readonly Placed<'trajectory.scored'>[],
  given: readonly Placed<'reward.reported'>[],
  findings: Findings,
): void {
  if (run.truncated('trajectory.scored')) return;
  const outcome = run.endings.get(revisions[0]?.value.attempt_id ?? '')?.[0]?.value.outcome;
  if (outcome === 'REPLACED' || outcome === 'FAILED' || outcome === 'CANCELLED') return;
  const published = new Set(revisions.flatMap(({ value }) => value.rewards.map(scorerOf)));
  for (const report of given)
    if (carriesScore(report.value.reward) && !published.has(scorerOf(report.value.reward)) && run.settled(report))
      findings.warning('REWARD_UNUSED', report, `${report.value.work_id}: its score was never published`);
}
