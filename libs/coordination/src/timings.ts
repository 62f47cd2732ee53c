/** Durations of the coordination plane, milliseconds; docs/timeouts.md is the table for operators. */
export interface Timings {
  /** A claim whose worker sends no heartbeat for so long is given up. */
  readonly leaseMs: number;
  /** Added to set-up and wall budget before a live worker's attempt counts as overdue. */
  readonly overdueSlackMs: number;
  /** An attempt that was not finished by then, claimed or not, is given up. */
  readonly attemptDeadlineMs: number;
  /** A task of an unknown run waits so long for its run. */
  readonly parkMs: number;
  /** A decided group's marker is kept so long. */
  readonly markerMs: number;
  /** Verdicts of commands are remembered so long, for retries. */
  readonly commandMs: number;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

export const DEFAULT_TIMINGS: Timings = {
  leaseMs: 15_000,
  overdueSlackMs: 5 * MINUTE,
  attemptDeadlineMs: DAY,
  parkMs: 10 * MINUTE,
  markerMs: 7 * DAY,
  commandMs: DAY,
};
