import type { RolloutRuled } from '@espalier/contracts';
import type { BroadcastConsumer } from '../port.ts';

/** Told of rulings; must not throw. */
export type RulingListener = (ruling: RolloutRuled) => void;

/**
 * The one subscription to `rollout.ruled` that all work consumers of a process share. Listeners hear the rulings of the
 * work they name.
 */
export class Rulings {
  readonly #open: (handler: RulingListener) => BroadcastConsumer;
  readonly #byWork = new Map<string, Set<RulingListener>>();
  #broadcast: BroadcastConsumer | undefined;
  #started: Promise<void> | undefined;

  constructor(open: (handler: RulingListener) => BroadcastConsumer) {
    this.#open = open;
  }

  /** Resolves when every ruling stored from now on will be heard. */
  start(): Promise<void> {
    this.#started ??= this.#begin().catch((error: unknown) => {
      this.#started = undefined;
      throw error;
    });
    return this.#started;
  }

  /** Listens for rulings on a piece of work; returns what ends it. */
  listen(workId: string, listener: RulingListener): () => void {
    const listeners = this.#byWork.get(workId) ?? new Set();
    listeners.add(listener);
    this.#byWork.set(workId, listeners);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#byWork.get(workId) === listeners) this.#byWork.delete(workId);
    };
  }

  healthy(): boolean {
    return this.#broadcast?.healthy() ?? true;
  }

  async stop(): Promise<void> {
    await this.#broadcast?.stop();
  }

  async #begin(): Promise<void> {
    const broadcast = this.#open((ruling) => {
      for (const listener of [...(this.#byWork.get(ruling.work_id) ?? [])]) listener(ruling);
    });
    this.#broadcast = broadcast;
    await broadcast.start();
  }
}
