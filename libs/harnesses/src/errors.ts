/** Thrown when no harness of that name (or version) is registered. */
export class HarnessUnknownError extends Error {
  readonly code = 'HARNESS_UNKNOWN';
  readonly retryable = false;

  constructor(message: string) {
    super(message);
    this.name = 'HarnessUnknownError';
  }
}

/** Thrown when a harness cannot be started with the options or the task it was given. */
export class HarnessConfigError extends Error {
  readonly code = 'HARNESS_CONFIG';
  readonly retryable = false;

  constructor(harness: string, reason: string) {
    super(`Harness "${harness}": ${reason}`);
    this.name = 'HarnessConfigError';
  }
}
