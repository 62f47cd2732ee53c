/**
 * Base of every error of this library. All of them mean that the *infrastructure* (manager, agent, sandbox, or the way
 * to them) or the *request* was at fault. What a command itself did (exit code, signal, time-out) is never an error:
 * it is a {@link Job}.
 */
export abstract class SandboxError extends Error {
  /** Stable code, AREA_REASON. */
  abstract readonly code: string;
  /** Whether the same call, or a new sandbox, may succeed. */
  abstract readonly retryable: boolean;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The manager did not answer within the retry window. */
export class SandboxManagerUnavailableError extends SandboxError {
  readonly code = 'SANDBOX_MANAGER_UNAVAILABLE';
  readonly retryable = true;
}

/** The sandbox could not be created or did not become ready: its message carries the manager's status text. */
export class SandboxCreateError extends SandboxError {
  readonly code = 'SANDBOX_CREATE';

  constructor(
    message: string,
    readonly retryable: boolean,
  ) {
    super(message);
  }
}

/** The sandbox did not become ready within the caller's time. */
export class SandboxNotReadyError extends SandboxError {
  readonly code = 'SANDBOX_NOT_READY';
  readonly retryable = true;
}

/** The sandbox existed and is gone: agent lost, lease lapsed, deleted by someone else. Start a new attempt. */
export class SandboxLostError extends SandboxError {
  readonly code = 'SANDBOX_LOST';
  readonly retryable = true;
}

/** The way to a running command broke and its outcome could not be read back. */
export class ExecChannelError extends SandboxError {
  readonly code = 'EXEC_CHANNEL';
  readonly retryable = true;
}

/** The manager refuses the request as it stands (validation, conflict, key): retrying it is useless. */
export class SandboxRequestError extends SandboxError {
  readonly code = 'SANDBOX_REQUEST';
  readonly retryable = false;

  constructor(
    message: string,
    /** HTTP status of the refusal. */
    readonly status: number,
  ) {
    super(message);
  }
}

/** A path in the sandbox is missing or of the wrong kind: caused by what runs there, not by infrastructure. */
export class SandboxFileError extends SandboxError {
  readonly code = 'SANDBOX_FILE';
  readonly retryable = false;

  constructor(
    message: string,
    readonly path: string,
    /** True when nothing exists at the path. */
    readonly missing: boolean,
  ) {
    super(message);
  }
}

/** Another holder with a higher epoch owns the model stream of this sandbox: this one must let go. */
export class ModelStreamStaleError extends SandboxError {
  readonly code = 'MODEL_STREAM_STALE';
  readonly retryable = false;
}

/** The model stream could not be opened or broke; the agent holds the calls meanwhile, so dial again. */
export class ModelStreamLostError extends SandboxError {
  readonly code = 'MODEL_STREAM_LOST';
  readonly retryable = true;
}

/** A frame of the model stream does not have its form. */
export class ModelFrameError extends SandboxError {
  readonly code = 'MODEL_STREAM_FRAME';
  readonly retryable = true;
}
