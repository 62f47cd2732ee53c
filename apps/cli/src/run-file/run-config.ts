import { canonicalJson, type HarnessConfig, type RunConfig, type ScorerConfig } from '@espalier/contracts';
import type { RunFile } from './run-file-schema.ts';

const MINUTE = 60_000;

/** The run's configuration: what the file says, and the defaults of docs/cli.md for what it does not. */
export function runConfigOf(file: RunFile): RunConfig {
  const purpose = file.purpose ?? 'TRAIN';
  const size = file.group?.size ?? (purpose === 'TRAIN' ? 4 : 1);
  const budget = Math.max(size, file.group?.budget ?? (purpose === 'TRAIN' ? Math.ceil(size * 1.5) : size));
  const target = file.target ?? {};
  const hasTarget = target.batches !== undefined || target.rollouts !== undefined || target.pass_rate !== undefined;
  const repeats = file.repeat_tasks ?? (purpose === 'TRAIN' && hasTarget);
  const harnesses = file.harnesses ?? [file.harness ?? 'mini'];
  return {
    purpose,
    harnesses: harnesses.map(harnessOf),
    policy: {
      model: file.policy.model,
      endpoints: file.policy.endpoints ?? [file.policy.endpoint ?? ''],
      adapter: file.policy.adapter ?? 'CHAT',
      temperature: file.policy.temperature ?? 1,
      top_p: file.policy.top_p ?? 1,
      max_tokens: file.policy.max_tokens ?? 1_024,
      timeout_ms: file.policy.timeout ?? 2 * MINUTE,
      extra_json: canonicalJson(file.policy.extra ?? {}),
    },
    group: {
      size,
      budget,
      mode: file.group?.mode ?? 'PER_COMPLETION',
      stride: file.group?.stride ?? budget,
      rho_min: file.group?.rho_min ?? 0.25,
      rho_max: file.group?.rho_max ?? 0.75,
      relaxed: file.group?.relaxed ?? true,
      require_std: file.group?.require_std ?? true,
      require_positive: file.group?.require_positive ?? true,
      max_replacements: file.group?.max_replacements ?? 16,
    },
    estimator: file.estimator ?? 'grpo',
    batch: {
      size: file.batch?.size ?? size * 4,
      batches_per_version: file.batch?.batches_per_version ?? 1,
      max_staleness: file.batch?.max_staleness ?? 1,
      partial_remainder: file.batch?.partial_remainder ?? true,
    },
    limits: {
      wall_ms: file.limits?.wall ?? 10 * MINUTE,
      model_calls: file.limits?.model_calls ?? 64,
      sampled_tokens: file.limits?.sampled_tokens ?? 65_536,
      context_tokens: file.limits?.context_tokens ?? 131_072,
      setup_ms: file.limits?.setup ?? 5 * MINUTE,
    },
    scorers: (file.scorers ?? ['verifier']).map(scorerOf),
    breaker: {
      window: file.breaker?.window ?? 50,
      min_attempts: file.breaker?.min_attempts ?? 20,
      max_infra_share: file.breaker?.max_infra_share ?? 0.5,
    },
    target: {
      batches: target.batches ?? null,
      rollouts: target.rollouts ?? null,
      pass_rate: target.pass_rate ?? null,
      pass_rate_window: target.pass_rate_window ?? 96,
    },
    max_attempts_in_flight: file.max_attempts_in_flight ?? Math.max(16, 2 * budget),
    repeat_tasks: repeats,
    close_when_done: file.close_when_done ?? !repeats,
    seed: file.seed ?? 1,
    labels_json: canonicalJson(file.labels ?? {}),
  };
}

function harnessOf(harness: NonNullable<RunFile['harness']>): HarnessConfig {
  if (typeof harness === 'string') return { name: harness, version: null, config_json: '{}', weight: 1 };
  const { name, version, weight, config } = harness;
  return { name, version: version ?? null, config_json: canonicalJson(config ?? {}), weight: weight ?? 1 };
}

function scorerOf(scorer: NonNullable<RunFile['scorers']>[number], index: number): ScorerConfig {
  const given = typeof scorer === 'string' ? namedScorer(scorer) : scorer;
  return {
    name: given.name,
    version: given.version ?? 'v1',
    // The first scorer decides; what stands after it informs, unless the file says otherwise.
    required: given.required ?? index === 0,
    weight: given.weight ?? (index === 0 ? 1 : 0),
    deadline_ms: given.deadline ?? 10 * MINUTE,
    config_json: canonicalJson(given.config ?? {}),
  };
}

function namedScorer(text: string): Exclude<NonNullable<RunFile['scorers']>[number], string> {
  const [name = '', version] = text.split('@');
  return version === undefined ? { name } : { name, version };
}
