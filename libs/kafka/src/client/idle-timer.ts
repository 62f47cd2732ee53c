import { createRequire } from 'node:module';

interface RequestQueue {
  pending: unknown[];
  throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(): void;
}

const CHECK_INTERVAL_MS = 10;
let applied = false;

/**
 * kafkajs 2.2.4 re-arms a timer with a negative delay on every connection, for ever: about 1,000 wake-ups a second each,
 * and TimeoutNegativeWarning on Node 24 (its issues 1556, 1751). The timer serves waiting requests alone, so it is armed only
 * while some wait. Does nothing when kafkajs has another inner shape: then the fault, or its cure, is upstream's.
 */
export function quietIdleConnections(): void {
  if (applied) return;
  applied = true;
  let prototype: RequestQueue | undefined;
  try {
    const require = createRequire(import.meta.url);
    prototype = (require('kafkajs/src/network/requestQueue') as { prototype: RequestQueue }).prototype;
  } catch {
    return;
  }
  if (typeof prototype.scheduleCheckPendingRequests !== 'function') return;
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.throttleCheckTimeoutId !== null || this.pending.length === 0) return;
    const delay = this.throttledUntil - Date.now();
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null;
        this.checkPendingRequests();
      },
      delay > 0 ? delay : CHECK_INTERVAL_MS,
    );
  };
}
