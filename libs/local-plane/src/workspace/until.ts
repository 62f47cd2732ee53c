import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Polls `condition` every `everyMs` until it holds or `timeoutMs` have passed; says which. A condition that throws counts
 * as not yet fulfilled.
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
  everyMs = 50,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    if (
      await Promise.resolve()
        .then(condition)
        .catch(() => false)
    )
      return true;
    if (performance.now() >= deadline) return false;
    await sleep(everyMs);
  }
}
