/** What to create. Equal specs under an equal id give the same sandbox; a different spec under it is refused. */
export interface SandboxSpec {
  /** DNS-1123, at most 63 characters; chosen by the manager when absent (then a lost answer leaves an orphan). */
  readonly sandboxId?: string;
  /** Image reference; the local driver stands in the machine's own root for any image. */
  readonly image: string;
  /** Default true: no network at all. */
  readonly blockNetwork?: boolean;
  /** Kubernetes quantities, e.g. `2`, `4Gi`. */
  readonly cpu?: string;
  readonly memory?: string;
  /** How long creation may take, seconds. */
  readonly createTimeoutSeconds?: number;
  /** Task package in the object store: the image is built from its `environment/Dockerfile`. */
  readonly taskPackage?: { readonly key: string; readonly sha256: string };
  /** Environment of every command. */
  readonly env?: Readonly<Record<string, string>>;
  /** Harness payloads, mounted read-only at `/opt/espalier/<name>`. */
  readonly payloads?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly runId?: string;
  /** Who holds it, e.g. an attempt id. */
  readonly owner?: string;
  /** The sandbox ends itself when no heartbeat comes for this long, seconds. */
  readonly leaseSeconds?: number;
}

export type SandboxStatus = 'ready' | 'pending' | 'unschedulable' | 'failed' | 'not_found';

/** A sandbox as the manager sees it. */
export interface Sandbox {
  readonly sandboxId: string;
  readonly image: string;
  readonly status: SandboxStatus;
  readonly statusMessage: string;
  readonly ready: boolean;
}

/** A command: exactly one of `command` (shell line) and `argv` (exact). */
export interface ExecRequest {
  readonly command?: string;
  readonly argv?: readonly string[];
  /** Working directory; the sandbox's own when absent. A missing one fails the command. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Wall-clock limit, milliseconds; the whole process tree is ended when it passes. Default 300,000. */
  readonly timeoutMs?: number;
  readonly loginShell?: boolean;
  readonly stdin?: Uint8Array | string;
  /** Kept bytes per stream, half head and half tail. Default 1 MiB. */
  readonly maxOutputBytes?: number;
  /** Run beside other commands of the sandbox. Default true here (the Orchard API's default is serial). */
  readonly parallel?: boolean;
  /** Equal keys run once, whatever is retried or restarted. A random one is made when absent. */
  readonly idempotencyKey?: string;
}

/** What one output stream gave. */
export interface JobOutput {
  readonly head: Buffer;
  readonly tail: Buffer;
  /** Bytes written by the command, kept or not. */
  readonly bytes: number;
  readonly truncated: boolean;
  /** Head and tail as text, with a note between them where bytes were dropped. */
  readonly text: string;
}

/** `lost`: the sandbox ended before the command did. */
export type JobState = 'queued' | 'running' | 'exited' | 'timed_out' | 'cancelled' | 'lost';

/** A command and what became of it. */
export interface Job {
  readonly jobId: string;
  readonly sandboxId: string;
  readonly state: JobState;
  /** Null while running, when ended by a signal, and when the command could not run to its end. */
  readonly exitCode: number | null;
  /** Signal name, e.g. `SIGKILL`. */
  readonly signal: string | null;
  /** Epoch milliseconds. */
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly stdout: JobOutput;
  readonly stderr: JobOutput;
  /** Why the command did not run to its end, if it did not. */
  readonly error: string | null;
}

export interface FileEntry {
  readonly name: string;
  readonly type: 'file' | 'directory';
  readonly size: number;
  readonly modified: string | null;
}

/** Where and how to reach a sandbox's agent directly. */
export interface AgentAccess {
  /** `unix:/path` or `tcp:host:port`. */
  readonly address: string;
  readonly token: string;
  /** Isolation level, e.g. `bubblewrap`. */
  readonly isolation: string;
  /** Working directory of commands. */
  readonly workdir: string;
}

/** Options of calls that may be given up. */
export interface CallOptions {
  readonly signal?: AbortSignal;
}
