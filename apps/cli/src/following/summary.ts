import { duration, percent } from '../output/format.ts';
import type { RunSnapshot } from '../run-view/run-snapshot.ts';
import { targetText } from '../run-view/render.ts';

/** What a run came to, as lines for people. */
export function summaryLines(snapshot: RunSnapshot): string[] {
  const { rollouts, groups, batches, started_at: started, last_event_at: last } = snapshot;
  const failures = Object.entries(rollouts.by_failure).map(([name, value]) => `${value} ${name}`);
  const outcomes = Object.entries(rollouts.by_outcome).map(([name, value]) => `${value} ${name.toLowerCase()}`);
  // Of a run under way the last message is of its beginning.
  const why = snapshot.state === 'ACTIVE' || snapshot.message === '' ? '' : `: ${snapshot.message}`;
  return [
    `run ${snapshot.run_id} is ${snapshot.state.toLowerCase()}${why}`,
    `  target          ${targetText(snapshot)}`,
    `  pass rate       ${percent(snapshot.first_pass_rate)} at first, ${percent(snapshot.last_pass_rate)} at last (${snapshot.scored} scored)`,
    `  rollouts        ${rollouts.ended} ended: ${outcomes.join(', ') || 'none'}`,
    `  failures        ${failures.join(', ') || 'none'}`,
    `  groups          ${groups.decided} decided`,
    `  batches         ${batches.offered} offered, ${batches.trained} trained`,
    `  policy version  ${snapshot.policy_version}`,
    `  time            ${started === null || last === null ? '-' : duration(last - started)}`,
  ];
}

/** Commands worth trying next. */
export function nextSteps(runId: string): string[] {
  return [
    'try next:',
    `  npx espalier audit ${runId}`,
    `  npx espalier run show ${runId}`,
    `  npx espalier trajectories list --run ${runId} --limit 10`,
    `  npx espalier trajectories export --run ${runId} --out ${runId}.jsonl`,
    `  npx espalier batches list --run ${runId}`,
  ];
}
