import { createHash } from 'node:crypto';
import type { ExecRequest } from './exec-request.ts';

/** How long an undelivered job waits for its caller to come back, milliseconds. */
const ADOPTION_MS = 120_000;

/**
 * The Orchard SDK sends a command again when the answer to its first request is lost. Jobs whose answer could not be
 * delivered are remembered for a while, and the next identical request adopts one; a delivered one never is.
 */
export class UndeliveredJobs {
  readonly #jobs = new Map<string, { readonly jobId: string; readonly until: number }[]>();

  /** Remembers a job whose caller went away. */
  add(fingerprint: string, jobId: string, now = Date.now()): void {
    const waiting = (this.#jobs.get(fingerprint) ?? []).filter((entry) => entry.until > now);
    this.#jobs.set(fingerprint, [...waiting, { jobId, until: now + ADOPTION_MS }]);
  }

  /** The oldest undelivered job of this fingerprint, once. */
  adopt(fingerprint: string, now = Date.now()): string | null {
    const waiting = (this.#jobs.get(fingerprint) ?? []).filter((entry) => entry.until > now);
    const first = waiting.shift();
    if (waiting.length > 0) this.#jobs.set(fingerprint, waiting);
    else this.#jobs.delete(fingerprint);
    return first?.jobId ?? null;
  }

  /** Forgets what nobody came back for. */
  sweep(now = Date.now()): void {
    for (const [fingerprint, entries] of this.#jobs)
      if (entries.every((entry) => entry.until <= now)) this.#jobs.delete(fingerprint);
  }
}

/** Equal for requests that the SDK would count as the same call. */
export function fingerprintOf(sandboxId: string, exec: ExecRequest, apiKey: string | null): string {
  const env = exec.env === null ? null : Object.entries(exec.env).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = [
    sandboxId,
    exec.command,
    exec.argv,
    exec.cwd,
    env,
    exec.loginShell,
    exec.timeoutMs,
    exec.stdin,
    apiKey,
  ];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
