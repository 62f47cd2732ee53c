import { isEstimator, estimatorNames } from '@espalier/estimators';
import { groupConfigProblems } from '@espalier/group-policies';
import { canonicalJson, RUN_ID, type RunConfig } from '@espalier/contracts';

/** State entries hold at most 64 KiB; these bounds keep every entry of a legal run below that. */
const MAX_GROUP_SIZE = 64;
const MAX_SCORERS = 6;
const MAX_CONFIG_BYTES = 32 * 1024;

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 1;

/** What makes a run's configuration illegal, each line naming its key; empty when it is legal. */
export function runConfigProblems(runId: string, config: RunConfig): string[] {
  const problems = groupConfigProblems(config.group).map((problem) => `group.${problem}`);
  if (!RUN_ID.test(runId)) problems.push(`run_id "${runId}" must be 1-63 of a-z, 0-9 and "-"`);
  const bytes = Buffer.byteLength(canonicalJson(config));
  if (bytes > MAX_CONFIG_BYTES)
    problems.push(`the configuration has ${bytes} bytes; at most ${MAX_CONFIG_BYTES} are allowed`);
  if (config.group.size > MAX_GROUP_SIZE)
    problems.push(`group.size ${config.group.size} must be at most ${MAX_GROUP_SIZE}`);
  if (config.scorers.length > MAX_SCORERS) problems.push(`scorers: at most ${MAX_SCORERS} are allowed`);
  if (config.purpose === 'UNKNOWN') problems.push('purpose must be TRAIN, EVAL or DISTILL');
  if (config.harnesses.length === 0) problems.push('harnesses must name at least one harness');
  for (const harness of config.harnesses)
    if (!(harness.weight > 0)) problems.push(`harnesses: weight of ${harness.name} must be positive`);
  if (!isEstimator(config.estimator))
    problems.push(`estimator "${config.estimator}" must be one of ${estimatorNames.join(', ')}`);
  if (!config.scorers.some((scorer) => scorer.required))
    problems.push('scorers must have at least one required scorer');
  const names = config.scorers.map((scorer) => `${scorer.name}@${scorer.version}`);
  if (new Set(names).size !== names.length) problems.push('scorers must differ in name or version');
  for (const scorer of config.scorers) {
    if (!/^[a-z0-9-]+$/.test(scorer.name) || !/^[A-Za-z0-9.-]+$/.test(scorer.version))
      problems.push(`scorers: "${scorer.name}@${scorer.version}" must be of letters, digits and "-"`);
    if (!isCount(scorer.deadline_ms))
      problems.push(`scorers: deadline_ms of ${scorer.name} must be a positive integer`);
  }
  if (config.purpose === 'TRAIN' && (!isCount(config.batch.size) || config.batch.size % config.group.size !== 0))
    problems.push(`batch.size ${config.batch.size} must be a multiple of group.size ${config.group.size}`);
  if (!isCount(config.batch.batches_per_version)) problems.push('batch.batches_per_version must be a positive integer');
  if (!Number.isSafeInteger(config.batch.max_staleness) || config.batch.max_staleness < 0)
    problems.push('batch.max_staleness must be 0 or a positive integer');
  if (!isCount(config.max_attempts_in_flight)) problems.push('max_attempts_in_flight must be a positive integer');
  for (const key of ['wall_ms', 'model_calls', 'sampled_tokens', 'context_tokens', 'setup_ms'] as const)
    if (!isCount(config.limits[key])) problems.push(`limits.${key} must be a positive integer`);
  if (!isCount(config.breaker.window) || !isCount(config.breaker.min_attempts))
    problems.push('breaker.window and breaker.min_attempts must be positive integers');
  const { target } = config;
  if (target.pass_rate !== null && !(target.pass_rate > 0 && target.pass_rate <= 1))
    problems.push('target.pass_rate must be in (0, 1]');
  if (!isCount(target.pass_rate_window) || target.pass_rate_window > 10_000)
    problems.push('target.pass_rate_window must be an integer in 1..10000');
  if (config.repeat_tasks && target.batches === null && target.rollouts === null && target.pass_rate === null)
    problems.push('repeat_tasks needs a target, or the run would never end');
  return problems;
}
