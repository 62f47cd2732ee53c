/** A request of the harness that cannot be served as it stands; answered with `status` in the wire's own error shape. */
export class RequestError extends Error {
  readonly retryable = false;
  constructor(
    readonly status: number,
    /** The wire's error code, e.g. `invalid_request`. */
    readonly code: string,
    message: string,
  ) {
    super(message);
    this.name = 'RequestError';
  }
}

/** Why a capability token is not accepted. */
export class CapabilityError extends Error {
  readonly retryable = false;
  constructor(
    readonly code: 'CAPABILITY_MISSING' | 'CAPABILITY_INVALID' | 'CAPABILITY_EXPIRED' | 'CAPABILITY_SCOPE',
    message: string,
  ) {
    super(message);
    this.name = 'CapabilityError';
  }
}

/**
 * Why the policy gave no usable answer.
 *
 * - `LLM_UNAVAILABLE`: no server answered, or all refused for reasons of their own, until the tries were used up.
 * - `LLM_TIMEOUT`: no answer within the deadline of a call.
 * - `LLM_BAD_ANSWER`: an answer that is not a chat completion.
 * - `GATEWAY_CAPTURE_INCOMPLETE`: an answer without the token ids or log-probs that training needs, or with different
 *   numbers of them. What was sampled is unknown, so the trajectory must never train.
 * - `LLM_CONTEXT`: the prompt is longer than the server takes.
 * - `LLM_REFUSED`: the server refuses the request's content (a tool schema it cannot read, ...).
 */
export type UpstreamErrorCode =
  'LLM_UNAVAILABLE' | 'LLM_TIMEOUT' | 'LLM_BAD_ANSWER' | 'GATEWAY_CAPTURE_INCOMPLETE' | 'LLM_CONTEXT' | 'LLM_REFUSED';

/** The policy gave no usable answer. `retryable`: another try may succeed. */
export class UpstreamError extends Error {
  /** How long the server asks to wait, milliseconds. */
  readonly retryAfterMs: number | null;
  constructor(
    readonly code: UpstreamErrorCode,
    message: string,
    readonly retryable: boolean,
    options: { cause?: unknown; retryAfterMs?: number | null } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'UpstreamError';
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/** Thrown when the session was closed under a call: the rollout is over, nobody waits for the answer. */
export class SessionClosedError extends Error {
  readonly code = 'GATEWAY_SESSION_CLOSED';
  readonly retryable = false;
  constructor() {
    super('the rollout has ended; no more model calls are served');
    this.name = 'SessionClosedError';
  }
}
