import { z } from 'zod';

/** Settings of the value re-ranker beside those of every service. */
export const settings = z.object({
  /** Between two looks for new models, and two fits, seconds. */
  ESPALIER_FIT_INTERVAL_S: z.coerce.number().positive().max(86_400).default(15),
  /** New labelled trajectories that make a new model worth fitting. */
  ESPALIER_FIT_EVERY: z.coerce.number().int().min(1).default(32),
  /** Most labelled trajectories of a fit; the newest are taken. */
  ESPALIER_FIT_EXAMPLES: z.coerce.number().int().min(8).max(20_000).default(1_500),
});

export type ValueRerankerConfig = z.output<typeof settings>;
