import { RUN_ID, TASK_ID } from '@espalier/contracts';
import { z } from 'zod';
import { milliseconds } from './durations.ts';

const count = z.int().min(1);
const share = z.number().min(0).max(1);

const duration = z
  .string({ error: 'must be a duration with its unit, like 90s, 5m or 1h' })
  .transform((text, context) => {
    const ms = milliseconds(text);
    if (ms !== null && ms > 0) return ms;
    context.addIssue({ code: 'custom', message: 'must be a duration with its unit, like 90s, 5m or 1h' });
    return z.NEVER;
  });

const upper = <const T extends readonly [string, ...string[]]>(...names: T) =>
  z.preprocess(
    (value) => (typeof value === 'string' ? value.toUpperCase().replaceAll('-', '_') : value),
    z.enum(names),
  );

const json = z.record(z.string(), z.json());

const harness = z.union([
  z.string().min(1),
  z.strictObject({
    name: z.string().min(1),
    version: z.string().min(1).optional(),
    weight: z.number().positive().optional(),
    config: json.optional(),
  }),
]);

const scorer = z.union([
  z.string().regex(/^[a-z0-9-]+(@[A-Za-z0-9.-]+)?$/, 'must be a name, or name@version'),
  z.strictObject({
    name: z.string().regex(/^[a-z0-9-]+$/),
    version: z
      .string()
      .regex(/^[A-Za-z0-9.-]+$/)
      .optional(),
    required: z.boolean().optional(),
    weight: z.number().min(0).optional(),
    deadline: duration.optional(),
    config: json.optional(),
  }),
]);

const task = z.union([
  z.string().min(1),
  z.strictObject({
    path: z.string().min(1),
    id: z.string().regex(TASK_ID).optional(),
    repeat: count.optional(),
  }),
]);

const policy = z
  .strictObject({
    model: z.string().min(1),
    endpoint: z.url().optional(),
    endpoints: z.array(z.url()).min(1).optional(),
    adapter: upper('CHAT', 'TOKENS').optional(),
    temperature: z.number().min(0).optional(),
    top_p: z.number().gt(0).max(1).optional(),
    max_tokens: count.optional(),
    timeout: duration.optional(),
    extra: json.optional(),
  })
  .refine((value) => (value.endpoint === undefined) !== (value.endpoints === undefined), {
    error: 'needs either endpoint (one URL ending in /v1) or endpoints (a list)',
  });

/** A run as one YAML file. Everything but `policy` has a default. */
export const runFileSchema = z.strictObject({
  run: z.string().regex(RUN_ID, 'must be 1-63 of a-z, 0-9 and "-"').optional(),
  purpose: upper('TRAIN', 'EVAL', 'DISTILL').optional(),
  tasks: z.array(task).optional(),
  policy,
  harness: harness.optional(),
  harnesses: z.array(harness).min(1).optional(),
  group: z
    .strictObject({
      size: count.optional(),
      budget: count.optional(),
      mode: upper('PER_COMPLETION', 'STRIDE').optional(),
      stride: count.optional(),
      rho_min: share.optional(),
      rho_max: share.optional(),
      relaxed: z.boolean().optional(),
      require_std: z.boolean().optional(),
      require_positive: z.boolean().optional(),
      max_replacements: z.int().min(0).optional(),
    })
    .optional(),
  estimator: z.string().min(1).optional(),
  batch: z
    .strictObject({
      size: count.optional(),
      batches_per_version: count.optional(),
      max_staleness: z.int().min(0).optional(),
      partial_remainder: z.boolean().optional(),
    })
    .optional(),
  limits: z
    .strictObject({
      wall: duration.optional(),
      model_calls: count.optional(),
      sampled_tokens: count.optional(),
      context_tokens: count.optional(),
      setup: duration.optional(),
    })
    .optional(),
  scorers: z.array(scorer).min(1).optional(),
  breaker: z
    .strictObject({ window: count.optional(), min_attempts: count.optional(), max_infra_share: share.optional() })
    .optional(),
  target: z
    .strictObject({
      batches: count.optional(),
      rollouts: count.optional(),
      pass_rate: z.number().gt(0).max(1).optional(),
      pass_rate_window: count.max(10_000).optional(),
    })
    .optional(),
  max_attempts_in_flight: count.optional(),
  repeat_tasks: z.boolean().optional(),
  close_when_done: z.boolean().optional(),
  seed: z.int().min(0).optional(),
  labels: json.optional(),
});

/** A validated run file, defaults not yet filled in. */
export type RunFile = z.output<typeof runFileSchema>;
