/** Thrown when recorded model calls do not fit together, so that no tree can be built from them. */
export class TrajectoryLogError extends Error {
  readonly code = 'TRAJECTORY_LOG_INVALID';
  readonly retryable = false;
}

/** Thrown when a request's messages are not a list of messages. */
export class MessageError extends Error {
  readonly code = 'MESSAGE_INVALID';
  readonly retryable = false;
}
