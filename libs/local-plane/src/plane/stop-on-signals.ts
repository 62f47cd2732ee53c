import type { Plane } from './plane.ts';

/** Signals within this time are one wish. Milliseconds. */
const REPEAT_MS = 1_000;

/** Milliseconds. */
const PARENT_CHECK_MS = 500;

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Stops the plane at the first SIGINT, SIGTERM or SIGHUP and returns that signal when everything is down. Another one, a
 * second or more later, ends this process at once; what still runs is then ended behind it. (A Ctrl-C often arrives more than
 * once: from the terminal, and from each process in between that passes it on.)
 *
 * With `ESPALIER_STOP_WITH_PARENT=1` in the environment the end of the parent process counts as SIGTERM.
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
    if (process.env['ESPALIER_STOP_WITH_PARENT'] !== '1') return;
    const parent = process.ppid;
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      resolve('SIGTERM');
    }, PARENT_CHECK_MS).unref();
  });
  await plane.stop();
  return signal;
}
