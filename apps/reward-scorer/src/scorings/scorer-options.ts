import { z } from 'zod';

/** Thrown when a run's options for the verifier cannot be used. */
export class ScorerOptionsError extends Error {
  readonly code = 'SCORER_CONFIG';
  readonly retryable = false;
}

const schema = z.strictObject({
  /** Which reward of a reward.json is the score. */
  reward_key: z.string().min(1).optional(),
  /**
   * Integrity gate: globs over paths relative to `/`. A submission that edits or adds such a file is GATED, with score 0.
   */
  protected: z.array(z.string().min(1)).max(100).default([]),
});

export type ScorerOptions = z.infer<typeof schema>;

/** Parses `config_json` of the scorer. Throws {@link ScorerOptionsError} naming every bad option. */
export function scorerOptions(configJson: string): ScorerOptions {
  let value: unknown;
  try {
    value = JSON.parse(configJson === '' ? '{}' : configJson);
  } catch {
    throw new ScorerOptionsError("the verifier's config_json is not JSON");
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const reasons = parsed.error.issues.map(
    ({ path, message }) => `${path.map(String).join('.') || 'options'}: ${message}`,
  );
  throw new ScorerOptionsError(`the verifier's config_json: ${reasons.join('; ')}`);
}
