import type { RankingDecidedBody } from '@espalier/contracts';
import { featuresOf, type Candidate } from '../features/features.ts';
import { hash32 } from '../features/hashing.ts';
import { valueOf, type ValueModel } from '../models/value-model.ts';

/** A candidate with the verifier's word, where there is one. */
export interface RankedCandidate extends Candidate {
  readonly passed: boolean | null;
}

/** A model as the store knows it. */
export interface StoredModel {
  readonly model: ValueModel;
  readonly digest: string;
}

/**
 * The order of a group by the value model, best first. Equal values (always so before a first model) are ordered by a
 * draw on the trajectory's id, so that the choice without a model is the random one.
 */
export function rankGroup(
  group: { readonly runId: string | null; readonly groupId: string; readonly taskId: string },
  candidates: readonly RankedCandidate[],
  stored: StoredModel | null,
): RankingDecidedBody {
  const valued = candidates
    .map((candidate) => ({
      candidate,
      value: valueOf(stored?.model ?? null, group.groupId, featuresOf(candidate)),
    }))
    .sort(
      (a, b) =>
        b.value - a.value ||
        hash32(a.candidate.trajectoryId) - hash32(b.candidate.trajectoryId) ||
        (a.candidate.trajectoryId < b.candidate.trajectoryId ? -1 : 1),
    );
  const best = valued[0]?.candidate;
  return {
    run_id: group.runId,
    idempotency_key: `${group.groupId}/ranking`,
    group_id: group.groupId,
    task_id: group.taskId,
    model_version: stored?.model.version ?? 0,
    model_digest: stored?.digest ?? '',
    ranked: valued.map(({ candidate, value }, index) => ({
      trajectory_id: candidate.trajectoryId,
      rank: index + 1,
      value,
      passed: candidate.passed,
    })),
    best_trajectory_id: best?.trajectoryId ?? null,
    best_passed: best?.passed ?? null,
  };
}
