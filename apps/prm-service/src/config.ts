import { z } from 'zod';

/** Settings of the process judge beside those of every service. */
export const settings = z.object({
  /** OpenAI-compatible endpoint of the judge, ending in /v1. Without one every scoring is SKIPPED. */
  ESPALIER_JUDGE_URL: z
    .url()
    .transform((value) => value.replace(/\/+$/, ''))
    .optional(),
  ESPALIER_JUDGE_API_KEY: z.string().optional(),
  ESPALIER_JUDGE_MODEL: z.string().min(1).default('judge'),
  /** Scorings at a time. */
  ESPALIER_SLOTS: z.coerce.number().int().min(1).max(1_000).default(8),
});

export type PrmConfig = z.output<typeof settings>;
