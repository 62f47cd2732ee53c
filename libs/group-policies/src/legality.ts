import type { GroupConfig } from '@espalier/contracts';

/** Thrown by {@link assertGroupConfig}. */
export class GroupConfigError extends Error {
  readonly code = 'GROUP_CONFIG_INVALID';
  readonly retryable = false;
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`group configuration: ${problems.join('; ')}`);
    this.problems = problems;
  }
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 1;
const isShare = (value: number): boolean => value >= 0 && value <= 1;

/** What makes a group configuration illegal, in words; empty when it is legal. */
export function groupConfigProblems(config: GroupConfig): string[] {
  const problems: string[] = [];
  if (!isCount(config.size)) problems.push(`size ${config.size} must be a whole number from 1`);
  if (!isCount(config.budget) || config.budget < config.size)
    problems.push(`budget ${config.budget} must be a whole number of at least size ${config.size}`);
  if (config.mode === 'UNKNOWN') problems.push('mode must be PER_COMPLETION or STRIDE');
  if (config.mode === 'STRIDE' && (!isCount(config.stride) || config.stride > config.budget))
    problems.push(`stride ${config.stride} must be a whole number from 1 to budget ${config.budget}`);
  if (!isShare(config.rho_min) || !isShare(config.rho_max) || config.rho_min > config.rho_max)
    problems.push(`rho_min ${config.rho_min} and rho_max ${config.rho_max} must satisfy 0 <= rho_min <= rho_max <= 1`);
  if (!Number.isSafeInteger(config.max_replacements) || config.max_replacements < 0)
    problems.push(`max_replacements ${config.max_replacements} must be a whole number from 0`);
  return problems;
}

/** Throws {@link GroupConfigError} naming every problem. */
export function assertGroupConfig(config: GroupConfig): void {
  const problems = groupConfigProblems(config);
  if (problems.length > 0) throw new GroupConfigError(problems);
}
