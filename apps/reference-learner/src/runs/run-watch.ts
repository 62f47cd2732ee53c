import type { RunReported, RunState, RunSubmitted } from '@espalier/contracts';

/** A run as this learner sees it. */
interface WatchedRun {
  readonly submittedAt: number;
  /** null until it was reported for the first time. */
  readonly state: RunState | null;
  readonly batchesPerVersion: number;
  readonly temperature: number;
  /** A TRAIN run of this learner's model. */
  readonly ours: boolean;
}

const trainable = (state: RunState | null): boolean => state === 'ACTIVE' || state === 'PAUSED' || state === 'DRAINING';

/** Which run to train: the newest one of this model that has not ended, folded from run.submitted and run.reported. */
export class RunWatch {
  readonly #model: string;
  readonly #runs = new Map<string, WatchedRun>();
  readonly #done = new Set<string>();
  readonly #listeners = new Set<() => void>();

  constructor(model: string) {
    this.#model = model;
  }

  onSubmitted(event: RunSubmitted): void {
    const runId = event.run_id ?? '';
    const known = this.#runs.get(runId);
    // The first submission wins; a later one is a duplicate or refused.
    if (runId === '' || known?.submittedAt) return;
    const { purpose, policy, batch } = event.config;
    this.#set(runId, {
      submittedAt: event.occurred_at,
      state: known?.state ?? null,
      batchesPerVersion: batch.batches_per_version,
      temperature: policy.temperature,
      ours: purpose === 'TRAIN' && policy.model === this.#model,
    });
  }

  onReported(event: RunReported): void {
    const runId = event.run_id ?? '';
    // A refused second submission says nothing of the run itself.
    if (runId === '' || event.code === 'RUN_DIFFERS') return;
    const known = this.#runs.get(runId);
    this.#set(runId, {
      ...(known ?? { submittedAt: 0, batchesPerVersion: 1, temperature: 1, ours: false }),
      state: event.state,
    });
  }

  /** The run to train now, if any. */
  current(): string | null {
    const candidates = [...this.#runs]
      .filter(([runId, run]) => run.ours && trainable(run.state) && !this.#done.has(runId))
      .sort(([idA, a], [idB, b]) => b.submittedAt - a.submittedAt || (idA < idB ? 1 : -1));
    return candidates[0]?.[0] ?? null;
  }

  /** Leaves a run alone from now on: it ended, another learner has it, or it refused this one. */
  finish(runId: string): void {
    this.#done.add(runId);
    this.#tell();
  }

  batchesPerVersion(runId: string): number {
    return this.#runs.get(runId)?.batchesPerVersion ?? 1;
  }

  temperature(runId: string): number {
    return this.#runs.get(runId)?.temperature ?? 1;
  }

  /** Resolves with the run to train once there is one. */
  async next(stop: AbortSignal): Promise<string> {
    return this.#until(() => this.current(), stop);
  }

  /** Resolves once there is a run to train that was submitted after this one. An ended run is left to its last batches. */
  async newerThan(runId: string, stop: AbortSignal): Promise<string> {
    const since = this.#runs.get(runId)?.submittedAt ?? 0;
    return this.#until(() => {
      const current = this.current();
      return current !== null && (this.#runs.get(current)?.submittedAt ?? 0) > since ? current : null;
    }, stop);
  }

  async #until<T>(answer: () => T | null, stop: AbortSignal): Promise<T> {
    for (;;) {
      stop.throwIfAborted();
      const found = answer();
      if (found !== null) return found;
      await new Promise<void>((resolve, reject) => {
        const wake = (): void => {
          this.#listeners.delete(wake);
          stop.removeEventListener('abort', fail);
          resolve();
        };
        const fail = (): void => {
          this.#listeners.delete(wake);
          reject(stop.reason as Error);
        };
        this.#listeners.add(wake);
        stop.addEventListener('abort', fail, { once: true });
      });
    }
  }

  #set(runId: string, run: WatchedRun): void {
    this.#runs.set(runId, run);
    this.#tell();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
