import { z } from 'zod';

/** Options of the scorer in a run's configuration (`scorers[].config_json`). */
export const scorerOptions = z.strictObject({
  /** Judge model; default the service's. */
  model: z.string().min(1).optional(),
  temperature: z.number().min(0).max(2).default(0.6),
  /** Limit of one answer, milliseconds. */
  timeout_ms: z.int().min(100).max(600_000).default(90_000),
  /** Most tries. */
  attempts: z.int().min(1).max(10).default(3),
  /** How much of what tools printed the judge sees. */
  observations: z.enum(['none', 'compact', 'full']).default('compact'),
  /** Show the reference solution for R2, R3 and R5. */
  reference: z.boolean().default(false),
});

export type ScorerOptions = z.output<typeof scorerOptions>;

/** The options do not have their form. */
export class ScorerOptionsError extends Error {
  readonly code = 'SCORER_OPTIONS_INVALID';
  readonly retryable = false;
}

/** Reads options. Throws {@link ScorerOptionsError}. */
export function parseScorerOptions(json: string): ScorerOptions {
  let value: unknown;
  try {
    value = JSON.parse(json === '' ? '{}' : json);
  } catch {
    throw new ScorerOptionsError('config_json of scorer rubric is not JSON');
  }
  const parsed = scorerOptions.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'config_json'}: ${issue.message}`);
  throw new ScorerOptionsError(`config_json of scorer rubric: ${problems.join('; ')}`);
}
