/**
 * Calls `ended` when the process that started this one has gone. npm passes a signal on to a shell that may die without
 * passing it on further, and nobody can pass on SIGKILL: what npm has started must notice by itself.
 */
export function whenParentEnds(ended) {
  if (process.env.npm_lifecycle_event === undefined) return; // started by hand: `nohup node ... &` is meant to stay
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    ended();
  }, 500);
  timer.unref();
}
