import { duration, percent } from '../output/format.ts';
import type { RunSnapshot, ScoredPoint } from './run-snapshot.ts';
import { sparkline } from './sparkline.ts';

/** Records that a service has still to read. */
export interface ServiceLag {
  readonly group: string;
  readonly lag: number;
}

const counts = (by: Readonly<Record<string, number>>): string =>
  Object.entries(by)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, value]) => `${value} ${name.toLowerCase()}`)
    .join(', ');

const inBrackets = (text: string): string => (text === '' ? '' : `  (${text})`);

/** What a run aims at, in words. */
export function targetText({ target, pass_rate_window: window }: RunSnapshot): string {
  const parts = [
    target.pass_rate === null ? [] : [`pass rate ${percent(target.pass_rate)} over ${window}`],
    target.batches === null ? [] : [`${target.batches} batches`],
    target.rollouts === null ? [] : [`at most ${target.rollouts} rollouts`],
  ].flat();
  return parts.length === 0 ? 'until its tasks are done' : parts.join(', ');
}

/** The whole state of a run, as lines. `now`: milliseconds UTC; `width`: columns. */
export function renderRun(
  snapshot: RunSnapshot,
  points: readonly ScoredPoint[],
  lags: readonly ServiceLag[],
  now: number,
  width: number,
): string[] {
  const { rollouts, groups, batches } = snapshot;
  const until = snapshot.ended ? (snapshot.last_event_at ?? now) : now;
  const elapsed = snapshot.started_at === null ? '' : `  ${duration(Math.max(0, until - snapshot.started_at))}`;
  const waiting = snapshot.waiting_for === null || snapshot.ended ? '' : `, waits for ${snapshot.waiting_for}`;
  const bars = sparkline(
    points.map(({ passed }) => passed),
    Math.max(10, Math.min(60, width - 30)),
  );
  const behind = lags.filter(({ lag }) => lag > 0).map(({ group, lag }) => `${group} ${lag}`);
  return [
    `run ${snapshot.run_id}  ${snapshot.state.toLowerCase()}${waiting}${elapsed}`,
    `  target    ${targetText(snapshot)}`,
    ...(snapshot.state === 'PAUSED' && snapshot.message !== '' ? [`  paused    ${snapshot.message}`] : []),
    `  rollouts  ${rollouts.running} running, ${rollouts.ended} ended${inBrackets(counts(rollouts.by_outcome))}`,
    ...(Object.keys(rollouts.by_failure).length === 0 ? [] : [`  failures  ${counts(rollouts.by_failure)}`]),
    `  groups    ${groups.forming} forming, ${groups.decided} decided${inBrackets(counts(groups.by_outcome))}`,
    `  batches   ${batches.offered} offered, ${batches.trained} trained   policy version ${snapshot.policy_version}`,
    `  pass rate ${bars} ${percent(snapshot.last_pass_rate)} of the last ${Math.min(snapshot.scored, snapshot.pass_rate_window)}`,
    `  lag       ${behind.length === 0 ? 'none' : behind.join(', ')}`,
  ];
}

/** The state of a run as one line. */
export function renderLine(snapshot: RunSnapshot, now: number): string {
  const { rollouts, groups, batches } = snapshot;
  const elapsed = snapshot.started_at === null ? 0 : Math.max(0, now - snapshot.started_at);
  const failed = Object.values(rollouts.by_failure).reduce((sum, value) => sum + value, 0);
  return [
    `${String(Math.round(elapsed / 1_000)).padStart(4)} s`,
    `rollouts ${rollouts.running} running ${rollouts.ended} ended ${failed} failed`,
    `groups ${groups.forming} forming ${groups.decided} decided`,
    `batches ${batches.offered} offered ${batches.trained} trained`,
    `policy v${snapshot.policy_version}`,
    `pass rate ${percent(snapshot.last_pass_rate)}`,
    ...(snapshot.waiting_for === null || snapshot.ended ? [] : [`waits for ${snapshot.waiting_for}`]),
  ].join(' | ');
}
