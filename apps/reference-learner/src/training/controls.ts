import { uniformFrom } from '../policy-model/sampling.ts';
import type { GradientSample } from './policy-gradient.ts';

/** What a run is compared with: `none` learns, `shuffled` learns from exchanged rewards, `off` does not learn. */
export type Control = 'none' | 'shuffled' | 'off';

/**
 * Exchanges advantages among the trajectories of a batch, by a draw that follows from `seed` alone; samples of one
 * trajectory keep sharing theirs. What was rewarded no longer has to do with what was done, and all else stays.
 */
export function shuffled<T extends GradientSample & { readonly trajectory_id: string }>(
  samples: readonly T[],
  seed: string,
): T[] {
  const advantages = new Map(samples.map(({ trajectory_id: id, advantage }) => [id, advantage]));
  const ids = [...advantages.keys()];
  const uniform = uniformFrom('shuffled rewards', seed);
  const donors = ids.map((id) => ({ id, at: uniform() })).sort((a, b) => a.at - b.at);
  const given = new Map(ids.map((id, index) => [id, advantages.get(donors[index]?.id ?? id) ?? 0]));
  return samples.map((sample) => ({ ...sample, advantage: given.get(sample.trajectory_id) ?? sample.advantage }));
}
