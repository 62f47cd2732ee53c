import { z } from 'zod';

/** `CONFIG_INVALID`: one or more settings are missing or wrong; the message names every one of them. */
export class ConfigError extends Error {
  readonly code = 'CONFIG_INVALID';
  readonly retryable = false;
  /** One line for each bad key. */
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`configuration: ${problems.join('; ')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** Environment-like settings. */
export type Settings = Readonly<Record<string, string | undefined>>;

/**
 * Parses settings once into a frozen object. Empty strings count as not set. Throws {@link ConfigError} naming every bad key.
 */
export function loadConfig<S extends z.ZodType>(schema: S, settings: Settings): Readonly<z.output<S>> {
  const given = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined && value !== ''));
  const result = schema.safeParse(given);
  if (!result.success)
    throw new ConfigError(result.error.issues.map(({ path, message }) => `${path.join('.') || '(root)'}: ${message}`));
  return deepFreeze(result.data);
}

function deepFreeze<V>(value: V): V {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}
