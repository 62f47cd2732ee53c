import type { ServicePart } from '@espalier/nest';
import type { RunWatch } from '../runs/run-watch.ts';
import { SessionLostError } from './errors.ts';
import type { LearnerLog } from './learner.ts';

/** Trains one run until it ends or `stop` fires. */
export type ServeRun = (runId: string, stop: AbortSignal) => Promise<void>;

/** A newer run began: the one in hand waits. */
class SupersededError extends Error {}

/** Trains runs one after another: a fixed one, or always the newest that is active. */
export class LearnerService implements ServicePart {
  readonly #runs: RunWatch;
  readonly #serve: ServeRun;
  readonly #fixed: string | null;
  readonly #log: LearnerLog;
  readonly #stopping = new AbortController();
  #loop: Promise<void> | undefined;

  constructor(runs: RunWatch, serve: ServeRun, fixed: string | null, log: LearnerLog) {
    this.#runs = runs;
    this.#serve = serve;
    this.#fixed = fixed;
    this.#log = log;
  }

  start(): void {
    this.#loop = this.#run().catch((error: unknown) => {
      if (!this.#stopping.signal.aborted) throw error;
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the service stops'));
    await this.#loop;
  }

  async #run(): Promise<void> {
    if (this.#fixed !== null) {
      await this.#attempt(this.#fixed, this.#stopping.signal);
      return;
    }
    for (;;) {
      const runId = await this.#runs.next(this.#stopping.signal);
      const superseded = new AbortController();
      const signal = AbortSignal.any([this.#stopping.signal, superseded.signal]);
      const watching = new AbortController();
      const watch = this.#runs
        .newerThan(runId, AbortSignal.any([signal, watching.signal]))
        .then((newer) => superseded.abort(new SupersededError(newer)))
        .catch(() => undefined);
      await this.#attempt(runId, signal);
      watching.abort(new Error('served'));
      await watch;
    }
  }

  async #attempt(runId: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#serve(runId, signal);
      this.#log.info({ run: runId }, 'run ended');
      this.#runs.finish(runId);
    } catch (error) {
      this.#stopping.signal.throwIfAborted();
      if (signal.aborted) {
        this.#log.info({ run: runId, reason: String(signal.reason) }, 'run put aside');
        return;
      }
      this.#runs.finish(runId);
      const message = error instanceof SessionLostError ? 'another learner took over' : 'run left alone';
      this.#log.warn({ run: runId, err: error }, message);
    }
  }
}
