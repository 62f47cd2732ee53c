import type { DisposableSandbox } from './sandbox-port.ts';

/** The calls of a sandbox client that {@link bindSandbox} needs; `SandboxClient` of `@espalier/sandbox-client` has them. */
export interface SandboxCalls {
  exec(
    sandboxId: string,
    request: {
      readonly command: string;
      readonly cwd?: string;
      readonly env?: Readonly<Record<string, string>>;
      readonly timeoutMs: number;
    },
  ): Promise<{
    readonly state: string;
    readonly exitCode: number | null;
    readonly stdout: { readonly text: string };
    readonly stderr: { readonly text: string };
    readonly error: string | null;
  }>;
  putFile(sandboxId: string, path: string, content: Uint8Array, options?: { readonly mode?: number }): Promise<void>;
  putArchive(sandboxId: string, path: string, tar: Uint8Array): Promise<void>;
  getFile(sandboxId: string, path: string): Promise<Uint8Array>;
  readArchive(sandboxId: string, path: string): Promise<Uint8Array>;
  delete(sandboxId: string): Promise<void>;
}

/** Thrown when a command neither ended nor timed out: it was cancelled or could not be started. */
export class CommandNotRunError extends Error {
  readonly code = 'SANDBOX_COMMAND';
  readonly retryable = true;

  constructor(sandboxId: string, state: string, reason: string | null) {
    super(`Sandbox ${sandboxId}: a command is ${state}${reason === null ? '' : `: ${reason}`}`);
    this.name = 'CommandNotRunError';
  }
}

/** One sandbox of a client, as the procedures of this library take it. Closing deletes it. */
export function bindSandbox(client: SandboxCalls, sandboxId: string): DisposableSandbox {
  return {
    exec: async (request) => {
      const job = await client.exec(sandboxId, request);
      if (job.state !== 'exited' && job.state !== 'timed_out') {
        throw new CommandNotRunError(sandboxId, job.state, job.error);
      }
      return {
        exitCode: job.exitCode,
        timedOut: job.state === 'timed_out',
        stdout: job.stdout.text,
        stderr: job.stderr.text,
      };
    },
    putFile: (path, content, mode) => client.putFile(sandboxId, path, content, mode === undefined ? {} : { mode }),
    putArchive: (path, tar) => client.putArchive(sandboxId, path, tar),
    getFile: (path) => client.getFile(sandboxId, path),
    getArchive: (path) => client.readArchive(sandboxId, path),
    close: () => client.delete(sandboxId),
  };
}
