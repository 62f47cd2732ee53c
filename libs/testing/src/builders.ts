import type { ObjectRef, RunConfig, TrajectoryCounts } from '@espalier/contracts';

/** An object reference to nowhere, distinct by `name`. */
export const objectRef = (name = 'x'): ObjectRef => ({
  key: `test/${name}`,
  sha256: '0'.repeat(64),
  bytes: 1,
  content_digest: '0'.repeat(64),
  content_bytes: 1,
  media_type: 'application/octet-stream',
  encoding: 'identity',
});

/** Counts of a small trajectory. */
export const trajectoryCounts = (more: Partial<TrajectoryCounts> = {}): TrajectoryCounts => ({
  model_calls: 2,
  turns: 2,
  prompt_tokens: 100,
  sampled_tokens: 20,
  samples: 1,
  tool_calls: 1,
  ...more,
});

/** A small legal training run: groups of 4 of 6, batches of 8. */
export const runConfig = (more: Partial<RunConfig> = {}): RunConfig => ({
  purpose: 'TRAIN',
  harnesses: [{ name: 'mini', version: null, config_json: '{}', weight: 1 }],
  policy: {
    model: 'reference',
    endpoints: ['http://127.0.0.1:4107/v1'],
    adapter: 'CHAT',
    temperature: 1,
    top_p: 1,
    max_tokens: 256,
    timeout_ms: 10_000,
    extra_json: '{}',
  },
  group: {
    size: 4,
    budget: 6,
    mode: 'PER_COMPLETION',
    stride: 6,
    rho_min: 0.25,
    rho_max: 0.75,
    relaxed: true,
    require_std: true,
    require_positive: true,
    max_replacements: 4,
  },
  estimator: 'grpo',
  batch: { size: 8, batches_per_version: 1, max_staleness: 1, partial_remainder: true },
  limits: { wall_ms: 60_000, model_calls: 20, sampled_tokens: 10_000, context_tokens: 32_768, setup_ms: 30_000 },
  scorers: [{ name: 'verifier', version: '1', required: true, weight: 1, deadline_ms: 60_000, config_json: '{}' }],
  breaker: { window: 50, min_attempts: 20, max_infra_share: 0.5 },
  target: { batches: null, rollouts: 200, pass_rate: null, pass_rate_window: 50 },
  max_attempts_in_flight: 64,
  repeat_tasks: true,
  close_when_done: false,
  seed: 7,
  labels_json: '{}',
  ...more,
});
