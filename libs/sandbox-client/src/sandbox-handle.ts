import type { SandboxClient } from './client.ts';
import { SandboxLostError } from './errors.ts';
import type { CallOptions } from './types.ts';

/** A finished command, as far as its caller cares. */
export interface HandleResult {
  /** Null when the command was ended by a signal or by its time-out, or could not run. */
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command for {@link SandboxHandle.exec}. */
export interface HandleCommand {
  readonly command: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Wall-clock limit, milliseconds. */
  readonly timeoutMs: number;
}

/**
 * One sandbox, with the client and its id bound: what verifiers and snapshots work on. Every method rejects when the sandbox
 * or the way to it is at fault, and only then: a command that fails or times out resolves.
 */
export class SandboxHandle {
  readonly sandboxId: string;
  readonly #client: SandboxClient;
  readonly #options: CallOptions;

  /** `options.signal` gives every call up. */
  constructor(client: SandboxClient, sandboxId: string, options: CallOptions = {}) {
    this.#client = client;
    this.sandboxId = sandboxId;
    this.#options = options;
  }

  async exec(command: HandleCommand): Promise<HandleResult> {
    const job = await this.#client.exec(this.sandboxId, command, this.#options);
    if (job.state === 'cancelled') {
      throw new SandboxLostError(`sandbox ${this.sandboxId}: a command was cancelled from outside`);
    }
    const stderr = job.error === null ? job.stderr.text : `${job.stderr.text}${job.error}`;
    return { exitCode: job.exitCode, timedOut: job.state === 'timed_out', stdout: job.stdout.text, stderr };
  }

  putFile(path: string, content: Uint8Array, mode?: number): Promise<void> {
    const options = mode === undefined ? this.#options : { ...this.#options, mode };
    return this.#client.putFile(this.sandboxId, path, content, options);
  }

  putArchive(path: string, tar: Uint8Array): Promise<void> {
    return this.#client.putArchive(this.sandboxId, path, tar, this.#options);
  }

  getFile(path: string): Promise<Uint8Array> {
    return this.#client.getFile(this.sandboxId, path, this.#options);
  }

  getArchive(path: string): Promise<Uint8Array> {
    return this.#client.readArchive(this.sandboxId, path, this.#options);
  }

  close(): Promise<void> {
    return this.#client.delete(this.sandboxId);
  }
}
