import type { z } from 'zod';
import { HarnessConfigError } from './errors.ts';

/**
 * Parses `config_json` against a harness's own schema.
 * @throws {HarnessConfigError} naming every bad option.
 */
export function parseOptions<T extends z.ZodType>(harness: string, schema: T, configJson: string): z.output<T> {
  let value: unknown;
  try {
    value = JSON.parse(configJson === '' ? '{}' : configJson);
  } catch (error) {
    throw new HarnessConfigError(harness, `its options are not JSON: ${error instanceof Error ? error.message : ''}`);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const reasons = parsed.error.issues.map(
    ({ path, message }) => `${path.map(String).join('.') || 'options'}: ${message}`,
  );
  throw new HarnessConfigError(harness, reasons.join('; '));
}
