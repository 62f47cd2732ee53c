import { z } from 'zod';

/** Settings of the rollout-runner, beside those every service has. */
export const rolloutRunnerConfig = z.object({
  /** Rollouts at a time. */
  ESPALIER_SLOTS: z.coerce.number().int().min(1).max(1_000).default(4),
  ESPALIER_SANDBOX_URL: z.url().default('http://127.0.0.1:4100'),
  ESPALIER_SANDBOX_API_KEY: z.string().optional(),
  /** HMAC key of capability tokens; the same on every runner of a plane. */
  ESPALIER_CAPABILITY_KEY: z.string().min(16, 'at least 16 characters; the same on every runner'),
  /** Key for the policy servers, sent as `Authorization: Bearer`. */
  ESPALIER_POLICY_API_KEY: z.string().optional(),
  /** A sandbox that is not renewed for this long ends itself, milliseconds. */
  ESPALIER_SANDBOX_LEASE_MS: z.coerce.number().int().min(5_000).default(60_000),
  /** Most tries of one model call before it is an infrastructure failure. */
  ESPALIER_MODEL_TRIES: z.coerce.number().int().min(1).max(50).default(6),
  /** How long a harness may take to end after a budget refusal, milliseconds. */
  ESPALIER_BUDGET_GRACE_MS: z.coerce.number().int().min(0).default(20_000),
  /** Leave a running harness to an adopter when its claim is lost or given back. */
  ESPALIER_DETACH: z
    .enum(['true', 'false', '1', '0'])
    .transform((value) => value === 'true' || value === '1')
    .default(true),
});

export type RolloutRunnerConfig = z.infer<typeof rolloutRunnerConfig>;
