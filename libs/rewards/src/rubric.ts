/** Thrown when a rubric value or weight is not a number the combination can use. */
export class RubricError extends Error {
  readonly code = 'RUBRIC_INVALID';
  readonly retryable = false;
}

/** One judged rubric. */
export interface RubricItem {
  /** Judge's value, in [0, 1]; null when the judge gave none. */
  readonly value: number | null;
  /** Share in the mean; 1 unless configured. */
  readonly weight?: number;
}

/**
 * J: the weighted mean of the judged rubrics, in [0, 1]; null when one has no value, since a mean over the rest would
 * reward what was not judged. Throws {@link RubricError} on values outside [0, 1] and on negative weights.
 */
export function rubricScore(items: readonly RubricItem[]): number | null {
  let sum = 0;
  let weights = 0;
  for (const [index, { value, weight = 1 }] of items.entries()) {
    if (!Number.isFinite(weight) || weight < 0) throw new RubricError(`rubric ${index}: weight ${weight} is not >= 0`);
    if (value === null) return null;
    if (!(value >= 0 && value <= 1)) throw new RubricError(`rubric ${index}: value ${value} is not in [0, 1]`);
    sum += weight * value;
    weights += weight;
  }
  return weights === 0 ? null : sum / weights;
}

/**
 * R' = R + alpha * J: the process judge's share on top of the outcome reward (Orchard's `simple_plus_llm_as_judges`).
 * Null when either part is: a judge that failed must not make a trajectory cheaper than its siblings.
 */
export function applyRubric(reward: number | null, judged: number | null, alpha: number): number | null {
  if (!Number.isFinite(alpha)) throw new RubricError(`alpha ${alpha} is not finite`);
  if (reward === null || judged === null) return null;
  return alpha === 0 ? reward : reward + alpha * judged;
}
