import { z } from 'zod';

/** Settings of the trainer-gateway, beside those every service has. */
export const trainerGatewayConfig = z.object({
  /** How long an HTTP command waits for its verdict before it answers 202, milliseconds. */
  ESPALIER_VERDICT_WAIT_MS: z.coerce.number().int().min(0).max(60_000).default(10_000),
  /** Lease of a claim, milliseconds; workers send a heartbeat every third of it. */
  ESPALIER_LEASE_MS: z.coerce.number().int().min(1000).default(15_000),
  /** How long a task waits for a run that is not known yet before it is dead-lettered, milliseconds. */
  ESPALIER_PARK_MS: z.coerce
    .number()
    .int()
    .min(0)
    .default(10 * 60_000),
});

export type TrainerGatewayConfig = z.infer<typeof trainerGatewayConfig>;
