import { SandboxLostError, type SandboxClient } from '@espalier/sandbox-client';

/**
 * Renews a sandbox's lease until it is stopped. `lost` aborts, with the error as reason, when the sandbox is gone; a manager
 * that is away for a moment does not end a rollout, since the sandbox lives on by its lease.
 */
export class SandboxLease {
  readonly #client: Pick<SandboxClient, 'heartbeat'>;
  readonly #sandboxId: string;
  readonly #lost = new AbortController();
  readonly #stop = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #renewing = false;

  constructor(client: Pick<SandboxClient, 'heartbeat'>, sandboxId: string, everyMs: number) {
    this.#client = client;
    this.#sandboxId = sandboxId;
    this.#timer = setInterval(() => void this.#renew(), everyMs);
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#stop.abort();
  }

  async #renew(): Promise<void> {
    if (this.#renewing) return;
    this.#renewing = true;
    try {
      await this.#client.heartbeat(this.#sandboxId, { signal: this.#stop.signal });
    } catch (error) {
      if (error instanceof SandboxLostError && !this.#stop.signal.aborted) this.#lost.abort(error);
    } finally {
      this.#renewing = false;
    }
  }
}
