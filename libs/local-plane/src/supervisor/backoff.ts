/** Delays between restarts. Times are milliseconds. */
export interface BackoffPolicy {
  readonly firstMs: number;
  readonly maxMs: number;
  /** A process that lived at least so long begins again at `firstMs`. */
  readonly stableAfterMs: number;
}

export const defaultBackoff: BackoffPolicy = { firstMs: 200, maxMs: 10_000, stableAfterMs: 30_000 };

/** The delay before the restart that follows the `deaths`-th death in a row (1, 2, ...): doubled each time, capped. */
export function backoffDelay(policy: BackoffPolicy, deaths: number): number {
  return Math.min(policy.maxMs, policy.firstMs * 2 ** Math.min(30, Math.max(0, deaths - 1)));
}
