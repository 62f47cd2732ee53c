import { SandboxLostError, type AgentAccess, type SandboxClient, type SandboxSpec } from '@espalier/sandbox-client';
import { SandboxLease } from './sandbox-lease.ts';

/** How a sandbox is held. */
export interface HoldOptions {
  /** Between two renewals of its lease, milliseconds. */
  readonly renewMs: number;
  /** Time to become ready, milliseconds. */
  readonly setupMs: number;
  readonly signal: AbortSignal;
  readonly onLost: (error: SandboxLostError) => void;
}

type Client = Pick<SandboxClient, 'create' | 'get' | 'waitReady' | 'agentAccess' | 'heartbeat' | 'delete'>;

/** A sandbox that is ready, and kept alive until it is let go or ended. */
export class HeldSandbox {
  readonly access: AgentAccess;
  readonly #lease: SandboxLease;

  private constructor(access: AgentAccess, lease: SandboxLease) {
    this.access = access;
    this.#lease = lease;
  }

  /** Creates it and waits until it is ready. A failed one is its caller's to delete. */
  static async create(
    client: Client,
    spec: SandboxSpec & { sandboxId: string },
    options: HoldOptions,
  ): Promise<HeldSandbox> {
    await client.create(spec, { signal: options.signal });
    return HeldSandbox.#hold(client, spec.sandboxId, options);
  }

  /** Takes over one that another runner made. Throws `SANDBOX_LOST` when it is there no more. */
  static async attach(client: Client, sandboxId: string, options: HoldOptions): Promise<HeldSandbox> {
    const { status, statusMessage } = await client.get(sandboxId, { signal: options.signal });
    if (status === 'not_found' || status === 'failed') {
      throw new SandboxLostError(`sandbox ${sandboxId} cannot be adopted, it is ${status}: ${statusMessage}`);
    }
    // At once: its lease may be about to lapse.
    await client.heartbeat(sandboxId, { signal: options.signal });
    return HeldSandbox.#hold(client, sandboxId, options);
  }

  static async #hold(client: Client, sandboxId: string, options: HoldOptions): Promise<HeldSandbox> {
    const { renewMs, setupMs, signal, onLost } = options;
    const lease = new SandboxLease(client, sandboxId, renewMs);
    lease.lost.addEventListener('abort', () => onLost(lease.lost.reason as SandboxLostError), { once: true });
    try {
      await client.waitReady(sandboxId, { timeoutMs: setupMs, signal });
      return new HeldSandbox(await client.agentAccess(sandboxId, { signal }), lease);
    } catch (error) {
      lease.stop();
      throw error;
    }
  }

  /** Renews it no more: it ends by its lease, unless another runner adopts it. */
  letGo(): void {
    this.#lease.stop();
  }
}
