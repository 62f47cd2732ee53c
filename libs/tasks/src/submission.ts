import { canonicalJson, type TaskSubmitted } from '@espalier/contracts';
import type { LoadedTask } from './task-directory/parse-task.ts';
import { sha256Of } from './task-package/pack-task.ts';

/**
 * The fields of `task.submitted` that the task itself determines. Times are milliseconds; `resources_json` has cpus,
 * gpus, memory_mb and storage_mb as far as the task sets them; `metadata_json` is `[metadata]` of task.toml.
 */
export type TaskFields = Pick<
  TaskSubmitted,
  | 'name'
  | 'instruction_digest'
  | 'image'
  | 'resources_json'
  | 'agent_timeout_ms'
  | 'verifier_timeout_ms'
  | 'metadata_json'
>;

/** Builds the fields of `task.submitted` that come from the task. */
export function taskFields(task: LoadedTask): TaskFields {
  const { agent, environment, verifier, metadata } = task.config;
  const { cpus, gpus } = environment;
  const memory_mb = environment.memory_mb ?? megabytesOf(environment.memory);
  const storage_mb = environment.storage_mb ?? megabytesOf(environment.storage);
  return {
    name: task.name,
    instruction_digest: sha256Of(task.instruction),
    image: environment.docker_image ?? null,
    resources_json: canonicalJson({ cpus, gpus, memory_mb, storage_mb }),
    agent_timeout_ms: agent.timeout_sec === undefined ? null : Math.round(agent.timeout_sec * 1_000),
    verifier_timeout_ms: Math.round(verifier.timeout_sec * 1_000),
    metadata_json: canonicalJson(metadata),
  };
}

/** The deprecated form of a size, `512M` or `2G`, in megabytes. */
function megabytesOf(size: string | undefined): number | undefined {
  if (size === undefined) return undefined;
  const amount = Number.parseFloat(size);
  const unit = size.trim().at(-1)?.toUpperCase();
  return Math.trunc(unit === 'G' ? amount * 1_024 : unit === 'K' ? amount / 1_024 : amount);
}
