/** Why an operation on Kafka failed. Codes are `KAFKA_<REASON>`; `retryable` says whether the same call may succeed later. */
export class KafkaError extends Error {
  readonly code: string;
  readonly retryable: boolean;
  constructor(code: string, message: string, retryable: boolean, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    this.retryable = retryable;
  }
}

/** `KAFKA_UNAVAILABLE`: no broker answered in time. Retryable. */
export class KafkaUnavailableError extends KafkaError {
  constructor(what: string, cause?: unknown) {
    super('KAFKA_UNAVAILABLE', `${what}: ${reasonOf(cause)}; check that the brokers are up and reachable`, true, cause);
  }
}

/** `KAFKA_TOPOLOGY`: the topics on the broker are not those of the catalogue. Terminal: refuse to boot. */
export class KafkaTopologyError extends KafkaError {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(
      'KAFKA_TOPOLOGY',
      `topics differ from the catalogue: ${problems.join('; ')}. The partition count is fixed per prefix: use the profile the topics were created with, or another prefix`,
      false,
    );
    this.problems = problems;
  }
}

/** `KAFKA_RECORD_TOO_LARGE`: one record exceeds what a topic takes. Terminal: put the body into the object store. */
export class RecordTooLargeError extends KafkaError {
  constructor(topic: string, bytes: number, limit: number) {
    super('KAFKA_RECORD_TOO_LARGE', `${topic}: a record of ${bytes} bytes, ${limit} allowed; use a claim check`, false);
  }
}

/** `KAFKA_FENCED`: another owner of the transactional id or group generation took over. The holder must drop its state. */
export class FencedError extends KafkaError {
  constructor(what: string, cause?: unknown) {
    super(
      'KAFKA_FENCED',
      `${what}: ${reasonOf(cause)}; another owner took over, drop the state and rejoin`,
      false,
      cause,
    );
  }
}

/** `KAFKA_CLOSED`: used after close. Terminal. */
export class KafkaClosedError extends KafkaError {
  constructor(what: string) {
    super('KAFKA_CLOSED', `${what} is closed`, false);
  }
}

/** `KAFKA_CONFIG`: options that cannot work. Terminal: fix the caller. */
export class KafkaConfigError extends KafkaError {
  constructor(message: string) {
    super('KAFKA_CONFIG', message, false);
  }
}

/** `KAFKA_STALLED`: a partition has data but does not move. Retryable, by restarting the process. */
export class StalledError extends KafkaError {
  constructor(message: string) {
    super('KAFKA_STALLED', message, true);
  }
}

/**
 * Thrown by a handler for a record that can never be handled: it goes to the dead-letter topic with `code` in its
 * headers, and the consumer goes on.
 */
export class TerminalError extends Error {
  readonly retryable = false;
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TerminalError';
    this.code = code;
  }
}

/** Thrown by a handler for a record that may be handled later: it goes to the next retry topic, then to dead letters. */
export class RetryableError extends Error {
  readonly retryable = true;
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RetryableError';
    this.code = code;
  }
}

/** Abort reason of a claim whose work was cancelled by the group. `reason` is the ruling's code, e.g. `GROUP_FULL`. */
export class CancelledError extends Error {
  readonly code = 'WORK_CANCELLED';
  readonly retryable = false;
  readonly reason: string;
  constructor(workId: string, reason: string) {
    super(`${workId}: cancelled by its group (${reason})`);
    this.name = 'CancelledError';
    this.reason = reason;
  }
}

/** Abort reason of a claim that this worker holds no longer: stop at once, produce nothing, leave the sandbox alone. */
export class LeaseLostError extends Error {
  readonly code = 'WORK_LEASE_LOST';
  readonly retryable = false;
  readonly reason: string;
  constructor(workId: string, reason: string) {
    super(`${workId}: the claim is lost (${reason})`);
    this.name = 'LeaseLostError';
    this.reason = reason;
  }
}

/** Abort reason of a claim that this worker gives back, e.g. `DRAINING`: detach, so that another worker may adopt. */
export class ReleasedError extends Error {
  readonly code = 'WORK_RELEASED';
  readonly retryable = true;
  readonly reason: string;
  constructor(workId: string, reason: string) {
    super(`${workId}: released by its worker (${reason})`);
    this.name = 'ReleasedError';
    this.reason = reason;
  }
}

/** A message for people out of whatever was thrown. */
export function reasonOf(error: unknown): string {
  if (error instanceof Error) return error.message === '' ? error.name : error.message;
  return typeof error === 'string' ? error : error === undefined ? 'unknown reason' : JSON.stringify(error);
}

/** The code of whatever was thrown; `fallback` when it has none. */
export function codeOf(error: unknown, fallback = 'HANDLER_FAILED'): string {
  if (typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string')
    return error.code;
  return fallback;
}
