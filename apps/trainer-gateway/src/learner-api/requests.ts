import { z } from 'zod';
import { ApiError } from './api-error.ts';

const count = z.coerce.number().int().min(0);

export const joinRequest = z.object({
  learner_id: z.string().min(1).max(200).default('learner'),
  checkpoint: z.string().min(1).max(2000).nullish(),
});

export const nextQuery = z.object({
  after: count.default(0),
  wait: z.coerce.number().min(0).max(300).default(0),
  learner_epoch: count.optional(),
});

export const samplesQuery = z
  .object({
    format: z.enum(['avro', 'msgpack', 'jsonl']).default('avro'),
    rank: count.default(0),
    world: z.coerce.number().int().min(1).max(4096).default(1),
  })
  .refine((query) => query.rank < query.world, { message: 'rank must be below world', path: ['rank'] });

export const ackRequest = z.object({
  learner_epoch: count,
  checkpoint: z.string().min(1).max(2000),
  metrics: z.record(z.string(), z.unknown()).default({}),
});

export const policyRequest = z.object({
  learner_epoch: count.nullish(),
  phase: z.enum(['PAUSING', 'READY']),
  version: count,
  after_batch: count,
  endpoints: z.array(z.string().url()).default([]),
  checkpoint: z.string().min(1).max(2000).nullish(),
});

export const commandRequest = z.object({
  command: z.enum(['PAUSE', 'RESUME', 'CANCEL', 'CLOSE_TASKS', 'CHANGE']),
  reason: z.string().max(1000).default(''),
  change: z.record(z.string(), z.unknown()).nullish(),
});

/** Validates `value`; throws 422 `REQUEST_INVALID` naming every bad field. */
export function parse<T extends z.ZodType>(schema: T, value: unknown): z.infer<T> {
  const result = schema.safeParse(value ?? {});
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`);
  throw new ApiError(422, 'REQUEST_INVALID', problems.join('; '));
}

/** A batch number in a path. */
export function parseSeq(text: string): number {
  const seq = Number(text);
  if (!Number.isSafeInteger(seq) || seq < 1)
    throw new ApiError(422, 'REQUEST_INVALID', `batch number "${text}" must be a positive integer`);
  return seq;
}
