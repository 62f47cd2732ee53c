import type { RolloutRequested } from '@espalier/contracts';
import type { Harness } from '@espalier/harnesses';
import type { SandboxSpec } from '@espalier/sandbox-client';
import { resolveEnvironment, type LoadedTask } from '@espalier/tasks';
import { resourcesOf } from './resources.ts';

/**
 * The sandbox that an attempt asks for: the task's image, the harness's payloads. The model needs no network; what the task
 * allows is the task's to say, and an allow-list, which no driver can keep, is no network.
 */
export function sandboxSpec(
  request: RolloutRequested,
  { task, harness }: { readonly task: LoadedTask; readonly harness: Harness },
  { sandboxId, runId, leaseMs }: { readonly sandboxId: string; readonly runId: string; readonly leaseMs: number },
): SandboxSpec & { readonly sandboxId: string } {
  const { task: spec, limits } = request;
  return {
    sandboxId,
    // The task package decides; the name is for drivers that pull.
    image: spec.image ?? 'espalier/task',
    blockNetwork: task.networkMode !== 'public',
    ...resourcesOf(spec.resources_json),
    createTimeoutSeconds: limits.setup_ms / 1_000,
    taskPackage: { key: spec.package.key, sha256: spec.package.sha256 },
    env: resolveEnvironment(task.config.environment.env),
    payloads: harness.payloads,
    labels: { run: runId, purpose: 'rollout' },
    runId,
    owner: request.attempt_id,
    leaseSeconds: leaseMs / 1_000,
  };
}
