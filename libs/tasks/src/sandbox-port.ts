/** A finished command. */
export interface CommandResult {
  /** Exit code; null when the command was ended by a signal or by its time-out. */
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command to run in a sandbox. */
export interface CommandRequest {
  /** Shell command line. */
  readonly command: string;
  /** Working directory; the image's own when absent. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Wall-clock limit, milliseconds; the whole process tree is ended when it passes. */
  readonly timeoutMs: number;
}

/**
 * What the verifier needs of a sandbox. Every method rejects when the sandbox or the way to it is at fault, and only
 * then: a command that fails or times out resolves.
 */
export interface VerifierSandbox {
  exec(request: CommandRequest): Promise<CommandResult>;
  /** Writes one file, making its parents. `mode` is the permission bits, e.g. `0o755`. */
  putFile(path: string, content: Uint8Array, mode?: number): Promise<void>;
  /** Extracts an uncompressed tar below `path`, making it. */
  putArchive(path: string, tar: Uint8Array): Promise<void>;
  getFile(path: string): Promise<Uint8Array>;
}

/** What taking a snapshot needs beyond {@link VerifierSandbox}. */
export interface WorkspaceSandbox extends VerifierSandbox {
  /** An uncompressed tar of what lies below the directory `path`, with names relative to it. */
  getArchive(path: string): Promise<Uint8Array>;
}

/** A sandbox that its user ends. */
export interface DisposableSandbox extends WorkspaceSandbox {
  close(): Promise<void>;
}
