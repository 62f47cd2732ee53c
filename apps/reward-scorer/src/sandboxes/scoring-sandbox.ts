import { createHash } from 'node:crypto';
import type { ScoringRequested } from '@espalier/contracts';
import { SandboxHandle, SandboxLostError, type SandboxClient } from '@espalier/sandbox-client';
import { resolveEnvironment, type LoadedTask } from '@espalier/tasks';

/** Id of the sandbox of a scoring: derived from the request and epoch, so that a create sent twice makes one. */
export const scoringSandboxId = (workId: string, epoch: number): string =>
  `v-${createHash('sha256').update(`${workId}\n${epoch}`).digest('hex').slice(0, 40)}`;

/** Times of a scoring's sandbox, milliseconds. */
export interface ScoringSandboxTimings {
  readonly leaseMs: number;
  readonly renewMs: number;
  readonly setupMs: number;
}

/** Whether the verifier is cut off: its own mode wins over the environment's; an allow-list cannot be kept and is none. */
function blocksNetwork({ config: { verifier, environment } }: LoadedTask): boolean {
  const legacy = environment.allow_internet === false ? 'no-network' : 'public';
  return (verifier.network_mode ?? environment.network_mode ?? legacy) !== 'public';
}

function quantities(resourcesJson: string): { readonly cpu?: string; readonly memory?: string } {
  try {
    const { cpus, memory_mb: memory } = (JSON.parse(resourcesJson || '{}') ?? {}) as Record<string, unknown>;
    return {
      ...(typeof cpus === 'number' && cpus > 0 ? { cpu: String(cpus) } : {}),
      ...(typeof memory === 'number' && memory > 0 ? { memory: `${Math.ceil(memory)}Mi` } : {}),
    };
  } catch {
    return {};
  }
}

/**
 * A fresh sandbox of the task's image, kept alive while a scoring works in it. Nothing of the agent's sandbox is in it, and no
 * harness payload.
 */
export class ScoringSandbox {
  readonly handle: SandboxHandle;
  /** Working directory of commands. */
  readonly workdir: string;
  readonly #timer: NodeJS.Timeout;

  private constructor(handle: SandboxHandle, workdir: string, timer: NodeJS.Timeout) {
    this.handle = handle;
    this.workdir = workdir;
    this.#timer = timer;
  }

  /** Throws the client's `SandboxError`s; a sandbox that was begun is ended then. */
  static async create(
    client: SandboxClient,
    request: ScoringRequested,
    task: LoadedTask,
    epoch: number,
    { leaseMs, renewMs, setupMs }: ScoringSandboxTimings,
    abort: AbortController,
  ): Promise<ScoringSandbox> {
    const { signal } = abort;
    const sandboxId = scoringSandboxId(request.work_id, epoch);
    const runId = request.run_id ?? request.group_id.split('/', 1)[0] ?? '';
    let timer: NodeJS.Timeout | undefined;
    try {
      await client.create(
        {
          sandboxId,
          image: request.task.image ?? 'espalier/task',
          blockNetwork: blocksNetwork(task),
          ...quantities(request.task.resources_json),
          createTimeoutSeconds: setupMs / 1_000,
          taskPackage: { key: request.task.package.key, sha256: request.task.package.sha256 },
          env: resolveEnvironment(task.config.environment.env),
          labels: { run: runId, purpose: 'scoring' },
          runId,
          owner: request.work_id,
          leaseSeconds: leaseMs / 1_000,
        },
        { signal },
      );
      timer = setInterval(() => {
        client.heartbeat(sandboxId, { signal }).catch((error: unknown) => {
          if (error instanceof SandboxLostError) abort.abort(error);
        });
      }, renewMs);
      await client.waitReady(sandboxId, { timeoutMs: setupMs, signal });
      const { workdir } = await client.agentAccess(sandboxId, { signal });
      return new ScoringSandbox(new SandboxHandle(client, sandboxId, { signal }), workdir, timer);
    } catch (error) {
      clearInterval(timer);
      await client.delete(sandboxId).catch(() => undefined);
      throw error;
    }
  }

  /** Ends it. A failure to do so is its lease's business. */
  async dispose(): Promise<void> {
    clearInterval(this.#timer);
    await this.handle.close().catch(() => undefined);
  }
}
