/** The gateway refused something; `code` is its own. */
export class GatewayRefusedError extends Error {
  readonly code: string;
  readonly status: number;
  readonly retryable = false;
  constructor(code: string, status: number, what: string, message: string) {
    super(`${what}: ${code} (${status}): ${message}`);
    this.code = code;
    this.status = status;
  }
}

/** The gateway or the policy server could not be reached, or failed; the same request may succeed later. */
export class LearnerUnavailableError extends Error {
  readonly code = 'LEARNER_UPSTREAM_UNAVAILABLE';
  readonly retryable = true;
}

/** Another learner opened a session on the run: this one has to stop. */
export class SessionLostError extends Error {
  readonly code = 'STALE_LEARNER';
  readonly retryable = false;
}

/** The gateway answered something this learner cannot read. */
export class BadAnswerError extends Error {
  readonly code = 'LEARNER_BAD_ANSWER';
  readonly retryable = false;
}
