import { setTimeout as sleep } from 'node:timers/promises';
import type { ObjectRef } from '@espalier/contracts';
import type { BodyStore } from '@espalier/gateway';
import { ObjectStoreError, type ObjectStore, type PutOptions } from '@espalier/objects';

const WAITED_FOR: ReadonlySet<string> = new Set(['OBJECT_STORE_FULL', 'OBJECT_STORE_UNAVAILABLE']);

/**
 * Puts with patience: a full or absent object store is tried again with back-off until the work's deadline, since what it
 * should hold cannot be made a second time. Everything else goes straight through.
 */
export class PatientStore implements BodyStore {
  readonly #store: Pick<ObjectStore, 'put' | 'get'>;
  readonly #deadlineAt: number;
  readonly #signal: AbortSignal;
  readonly #onWait: (error: ObjectStoreError, waitMs: number) => void;
  readonly #firstWaitMs: number;

  /** `deadlineAt`: milliseconds UTC. `onWait` is told of each try that failed, before the wait for the next. */
  constructor(
    store: Pick<ObjectStore, 'put' | 'get'>,
    deadlineAt: number,
    signal: AbortSignal,
    onWait: (error: ObjectStoreError, waitMs: number) => void = () => undefined,
    firstWaitMs = 500,
  ) {
    this.#store = store;
    this.#deadlineAt = deadlineAt;
    this.#signal = signal;
    this.#onWait = onWait;
    this.#firstWaitMs = firstWaitMs;
  }

  get(ref: ObjectRef): Promise<Buffer> {
    return this.#store.get(ref);
  }

  async put(content: Buffer, options: PutOptions): Promise<ObjectRef> {
    for (let wait = this.#firstWaitMs; ; wait = Math.min(wait * 2, 15_000)) {
      try {
        return await this.#store.put(content, options);
      } catch (error) {
        const waits = error instanceof ObjectStoreError && WAITED_FOR.has(error.code);
        if (!waits || Date.now() + wait >= this.#deadlineAt) throw error;
        this.#onWait(error, wait);
        await sleep(wait, undefined, { signal: this.#signal }).catch(() => this.#signal.throwIfAborted());
      }
    }
  }
}
