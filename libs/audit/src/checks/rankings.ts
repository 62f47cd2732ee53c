import type { Check } from './check.ts';
import { groupBy } from './run-index.ts';

/** A ranking orders trajectories of its decided group, each once, ranks from 1, with the verdicts of the verifier. */
export const checkRankings: Check = (run, findings) => {
  const seen = groupBy(run.log.of('ranking.decided'), ({ value }) => `${value.group_id}@${value.model_version}`);
  for (const [subject, [ranking, ...again]] of seen) {
    for (const other of again) findings.warning('RANKING_REPEATED', other, `${subject} was ranked before`);
    if (!ranking) continue;
    const { group_id, ranked, best_trajectory_id } = ranking.value;
    const wrong = (message: string): void =>
      findings.violation('RANKING_CONTRADICTS', ranking, `${subject}: ${message}`);
    const decided = run.decisions.get(group_id)?.[0];
    if (!decided) {
      if (!run.truncated('group.decided')) wrong('its group was never decided');
      continue;
    }
    const members = new Map(decided.value.members.map((member) => [member.trajectory_id, member]));
    for (const [index, entry] of ranked.entries()) {
      const member = members.get(entry.trajectory_id);
      if (!member) wrong(`${entry.trajectory_id} is no member of the group`);
      else if (entry.passed !== null && member.reward !== null && entry.passed !== member.reward > 0)
        wrong(`${entry.trajectory_id}: passed ${entry.passed}, its reward is ${member.reward}`);
      if (entry.rank !== index + 1) wrong(`rank ${entry.rank} stands at place ${index + 1}`);
    }
    if (new Set(ranked.map((entry) => entry.trajectory_id)).size !== ranked.length) wrong('ranks a trajectory twice');
    if (best_trajectory_id !== (ranked[0]?.trajectory_id ?? null))
      wrong(`its choice ${best_trajectory_id} is not first`);
  }
};
