import { createHash } from 'node:crypto';
import { canonicalJson } from '@espalier/contracts';
import { HarnessUnknownError } from '../errors.ts';
import type { Harness } from '../harness.ts';
import { mini } from '../mini/mini-harness.ts';
import { oracle } from '../oracle/oracle-harness.ts';

const harnesses: ReadonlyMap<string, Harness> = new Map([mini, oracle].map((harness) => [harness.name, harness]));

/** Names of all harnesses, sorted. */
export const harnessNames = (): string[] => [...harnesses.keys()].sort();

/**
 * The harness of that name.
 * @param version pinned version (`HarnessConfig.version`); null takes the registry's.
 * @throws {HarnessUnknownError} naming the known ones.
 */
export function harnessFor(name: string, version: string | null = null): Harness {
  const harness = harnesses.get(name);
  if (!harness) throw new HarnessUnknownError(`There is no harness "${name}"; known: ${harnessNames().join(', ')}`);
  if (version !== null && version !== harness.version) {
    throw new HarnessUnknownError(`Harness "${name}" is here in version ${harness.version}, not ${version}`);
  }
  return harness;
}

/**
 * SHA-256, hex, of harness name, version and options with defaults filled in: equal hashes mean that two trajectories
 * were made in the same way.
 * @throws {HarnessConfigError} when the options are bad.
 */
export function harnessConfigHash(harness: Harness, configJson: string): string {
  const { name, version } = harness;
  return createHash('sha256')
    .update(canonicalJson({ name, version, options: harness.options(configJson) }))
    .digest('hex');
}
