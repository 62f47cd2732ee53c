import { z } from 'zod';

/** Settings of the reward-scorer, beside those every service has. */
export const rewardScorerConfig = z.object({
  /** Scorings at a time. */
  ESPALIER_SLOTS: z.coerce.number().int().min(1).max(1_000).default(4),
  ESPALIER_SANDBOX_URL: z.url().default('http://127.0.0.1:4100'),
  ESPALIER_SANDBOX_API_KEY: z.string().optional(),
  /** A sandbox that is not renewed for this long ends itself, milliseconds. */
  ESPALIER_SANDBOX_LEASE_MS: z.coerce.number().int().min(5_000).default(60_000),
  /** Time to create a sandbox, milliseconds. */
  ESPALIER_SETUP_MS: z.coerce.number().int().min(1_000).default(300_000),
});

export type RewardScorerConfig = z.infer<typeof rewardScorerConfig>;
