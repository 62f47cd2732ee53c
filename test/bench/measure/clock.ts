/** Milliseconds of a clock that does not go back; comparable within this process only. */
export const now = (): number => performance.now();

/** Resolves after `ms` milliseconds. */
export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Resolves when `condition` holds, asked every 20 ms. Throws after `withinMs`, naming `what`. */
export async function waitFor(what: string, withinMs: number, condition: () => boolean): Promise<void> {
  const deadline = now() + withinMs;
  while (!condition()) {
    if (now() > deadline) throw new Error(`${what}: not within ${withinMs} ms`);
    await pause(20);
  }
}
