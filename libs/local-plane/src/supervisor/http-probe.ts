import type { Probe } from './process-spec.ts';

/** Answers true when a GET of `url` ends with a 2xx status within `timeoutMs`. */
export function httpProbe(url: string, timeoutMs = 2_000): Probe {
  return async () => {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    await response.body?.cancel();
    return response.ok;
  };
}
