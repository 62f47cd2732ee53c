export { HarnessConfigError, HarnessUnknownError } from './errors.ts';
export type { Harness, HarnessExit, HarnessFile, HarnessInput, HarnessOutcome, HarnessPlan } from './harness.ts';
export { harnessConfigHash, harnessFor, harnessNames } from './registry/harness-registry.ts';
