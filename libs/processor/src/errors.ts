/** A fault of a processor. */
export class ProcessorError extends Error {
  readonly code: string;
  readonly retryable: boolean;
  constructor(code: string, message: string, retryable: boolean, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    this.retryable = retryable;
  }
}

/** `PROCESSOR_BUG`: a machine threw, or its effects cannot be stored. The record is dead-lettered, what it belongs to is closed. */
export class ProcessorBugError extends ProcessorError {
  constructor(what: string, cause?: unknown) {
    super(
      'PROCESSOR_BUG',
      `${what}: ${cause instanceof Error ? cause.message : JSON.stringify(cause ?? 'unknown')}`,
      false,
      cause,
    );
  }
}

/** `PROCESSOR_STATE`: the changelog cannot be read by this version. Terminal for the process. */
export class ProcessorStateError extends ProcessorError {
  constructor(message: string) {
    super('PROCESSOR_STATE', message, false);
  }
}
