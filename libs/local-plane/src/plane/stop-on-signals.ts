import type { Plane } from './plane.ts';

/** Signals within this time are one wish. Milliseconds. */
const REPEAT_MS = 1_000;

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Stops the plane at the first SIGINT, SIGTERM or SIGHUP and returns that signal when everything is down. Another one, a
 * second or more later, ends this process at once; what still runs is then ended behind it. (A Ctrl-C often arrives more than
 * once: from the terminal, and from each process in between that passes it on.)
 */
export async function stopOnSignals(plane: Plane): Promise<NodeJS.Signals> {
  const signal = await new Promise<NodeJS.Signals>((resolve) => {
    let first = Number.NaN;
    for (const name of signals) {
      process.on(name, () => {
        if (performance.now() - first > REPEAT_MS) process.exit(130);
        if (Number.isNaN(first)) first = performance.now();
        resolve(name);
      });
    }
  });
  await plane.stop();
  return signal;
}
