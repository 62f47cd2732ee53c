import { z } from 'zod';

const joined = z.object({ learner_epoch: z.number() });
const offered = z.object({ seq: z.number(), entries: z.array(z.object({ trajectory_id: z.string() })) });

/** A batch as the learner's API tells of it. */
export type Batch = z.infer<typeof offered>;

/** A learner that trains nothing: it pulls every batch over HTTP and acknowledges it at once, unless told to hold back. */
export class Learner {
  readonly #base: string;
  readonly #abort = new AbortController();
  #epoch = 0;
  #after = 0;
  #pulling: Promise<void> = Promise.resolve();
  #acknowledging: Promise<void> | undefined;
  #acknowledged = 0;
  #failure: Error | undefined;
  /** While true, batches are pulled and kept. */
  holds = false;

  constructor(gateway: string, runId: string) {
    this.#base = `${gateway}/v1/runs/${runId}`;
  }

  async start(): Promise<void> {
    const answer = await this.#ask('learner', { method: 'POST', body: { learner_id: 'bench' } });
    this.#epoch = joined.parse(await answer.json()).learner_epoch;
    this.#pulling = this.#pull();
    // Thrown by `stop`, whenever that is.
    this.#pulling.catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#pulling;
    await this.#acknowledging?.catch(() => undefined);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Ends the run. */
  async cancelRun(): Promise<void> {
    await this.#ask('commands', { method: 'POST', body: { command: 'CANCEL', reason: 'measured' } });
  }

  get pulled(): number {
    return this.#after;
  }

  /** Number of the last acknowledged batch. */
  get acknowledged(): number {
    return this.#acknowledged;
  }

  /** Acknowledges all that was pulled, also while holding back. */
  acknowledgeAll(): Promise<void> {
    this.#acknowledging ??= this.#acknowledge().finally(() => (this.#acknowledging = undefined));
    return this.#acknowledging;
  }

  async #pull(): Promise<void> {
    while (!this.#abort.signal.aborted) {
      try {
        const answer = await this.#ask(`batches/next?after=${this.#after}&wait=20&learner_epoch=${this.#epoch}`, {});
        if (answer.status === 204) continue;
        this.#after = offered.parse(await answer.json()).seq;
        if (!this.holds) this.acknowledgeAll().catch((error: unknown) => (this.#failure = asError(error)));
      } catch (error) {
        if (this.#abort.signal.aborted) return;
        throw error;
      }
    }
  }

  async #acknowledge(): Promise<void> {
    while (this.#acknowledged < this.#after && !this.#abort.signal.aborted) {
      const seq = this.#after;
      try {
        await this.#ask(`batches/${seq}/ack`, {
          method: 'POST',
          body: { learner_epoch: this.#epoch, checkpoint: `step-${seq}` },
        });
      } catch (error) {
        if (this.#abort.signal.aborted) return;
        throw error;
      }
      this.#acknowledged = seq;
    }
  }

  async #ask(path: string, request: { method?: string; body?: object }): Promise<Response> {
    const answer = await fetch(`${this.#base}/${path}`, {
      method: request.method ?? 'GET',
      signal: this.#abort.signal,
      ...(request.body === undefined
        ? {}
        : { body: JSON.stringify(request.body), headers: { 'content-type': 'application/json' } }),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
