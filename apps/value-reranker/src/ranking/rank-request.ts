import { z } from 'zod';

const count = z.int().min(0).default(0);

const objectRef = z.object({
  key: z.string(),
  sha256: z.string(),
  bytes: z.int(),
  content_digest: z.string(),
  content_bytes: z.int(),
  media_type: z.string(),
  encoding: z.string(),
});

/** `POST /v1/rank`: trajectories of one task, by claim check. */
export const rankRequest = z.object({
  run_id: z.string().nullable().default(null),
  group_id: z.string().min(1),
  task_id: z.string().min(1),
  candidates: z
    .array(
      z.object({
        trajectory_id: z.string().min(1),
        status: z.enum(['COMPLETED', 'TRUNCATED', 'FAILED', 'CANCELLED']).default('COMPLETED'),
        counts: z
          .object({
            model_calls: count,
            turns: count,
            prompt_tokens: count,
            sampled_tokens: count,
            samples: count,
            tool_calls: count,
          })
          .prefault({}),
        body: objectRef.nullable().default(null),
      }),
    )
    .min(1)
    .max(1_000),
});
