import { createHash } from 'node:crypto';

/** How long a server that failed is passed over, milliseconds. */
const COOLING_MS = 10_000;

const weight = (key: string, endpoint: string): bigint =>
  createHash('sha256').update(`${key}\n${endpoint}`).digest().readBigUInt64BE();

/**
 * Chooses servers: the same one for all calls of a rollout (its prefix cache is there), another while that one fails.
 * Rendezvous hashing, so that a change of the set moves only the rollouts of the servers that came or went.
 */
export class UpstreamPool {
  readonly #coolUntil = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** The server for `key`; null when `endpoints` is empty. All cooling is the same as none. */
  choose(key: string, endpoints: readonly string[]): string | null {
    const now = this.#now();
    const healthy = endpoints.filter((endpoint) => (this.#coolUntil.get(endpoint) ?? 0) <= now);
    const among = healthy.length > 0 ? healthy : endpoints;
    let best: string | null = null;
    for (const endpoint of among) if (best === null || weight(key, endpoint) > weight(key, best)) best = endpoint;
    return best;
  }

  failed(endpoint: string): void {
    this.#coolUntil.set(endpoint, this.#now() + COOLING_MS);
  }

  succeeded(endpoint: string): void {
    this.#coolUntil.delete(endpoint);
  }
}
