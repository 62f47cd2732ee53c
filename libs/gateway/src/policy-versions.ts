import type { PolicyPublished } from '@espalier/contracts';
import type { PolicyState, PublishedPolicy } from './ports.ts';

const NONE: PublishedPolicy = { version: null, endpoints: [], pausing: false };

/** How long calls are held for a weight update that never reports READY, milliseconds; then they go on with the old one. */
const MAX_HOLD_MS = 15 * 60_000;

interface Waiting {
  readonly go: () => void;
}

/**
 * Policies as published, fed with `policy.published` in order. PAUSING of a newer version holds the run's calls until its
 * READY; late or repeated events of older versions change nothing.
 */
export class PolicyVersions implements PolicyState {
  readonly #runs = new Map<string, PublishedPolicy & { readonly pausingVersion: number; readonly since: number }>();
  readonly #waiting = new Map<string, Set<Waiting>>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  apply(event: Pick<PolicyPublished, 'run_id' | 'phase' | 'version' | 'endpoints' | 'occurred_at'>): void {
    if (event.run_id === null) return;
    const known = this.#runs.get(event.run_id);
    const version = known?.version ?? null;
    switch (event.phase) {
      case 'PAUSING':
        if (version !== null && event.version <= version) return;
        this.#runs.set(event.run_id, {
          version,
          endpoints: known?.endpoints ?? [],
          pausing: true,
          pausingVersion: event.version,
          since: event.occurred_at,
        });
        return;
      case 'READY': {
        const newer = version === null || event.version >= version;
        const pausingVersion = known?.pausingVersion ?? 0;
        this.#runs.set(event.run_id, {
          version: newer ? event.version : version,
          endpoints: newer ? [...event.endpoints] : (known?.endpoints ?? []),
          pausing: known?.pausing === true && pausingVersion > event.version,
          pausingVersion,
          since: known?.since ?? event.occurred_at,
        });
        for (const waiting of [...(this.#waiting.get(event.run_id) ?? [])]) waiting.go();
        return;
      }
      case 'UNKNOWN':
        return;
    }
  }

  published(runId: string): PublishedPolicy {
    return this.#runs.get(runId) ?? NONE;
  }

  async ready(runId: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    for (;;) {
      const known = this.#runs.get(runId);
      const left = known?.pausing === true ? known.since + MAX_HOLD_MS - this.#now() : 0;
      if (left <= 0) return;
      await this.#wait(runId, left, signal);
      signal.throwIfAborted();
    }
  }

  #wait(runId: string, ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const all = this.#waiting.get(runId) ?? new Set();
      this.#waiting.set(runId, all);
      const go = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', go);
        all.delete(waiting);
        resolve();
      };
      const waiting: Waiting = { go };
      const timer = setTimeout(go, ms);
      all.add(waiting);
      signal.addEventListener('abort', go, { once: true });
    });
  }
}
