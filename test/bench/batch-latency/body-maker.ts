import { Worker } from 'node:worker_threads';
import type { EventMap, ObjectRef } from '@espalier/contracts';

/** Asks the thread for the body of an attempt. */
export interface BodyRequest {
  readonly number: number;
  readonly request: EventMap['rollout.requested'];
}

/** The stored body, or why there is none. */
export type BodyAnswer =
  { readonly number: number; readonly ref: ObjectRef } | { readonly number: number; readonly error: string };

/** Makes bodies in a thread of its own, so that it does not hold up the clock of what is measured here. */
export class BodyMaker {
  readonly #thread: Worker;
  readonly #waiting = new Map<number, (answer: BodyAnswer) => void>();
  #number = 0;

  constructor(objectsUrl: string) {
    this.#thread = new Worker(new URL('./body-thread.ts', import.meta.url), { workerData: { objectsUrl } });
    this.#thread.on('message', (answer: BodyAnswer) => {
      this.#waiting.get(answer.number)?.(answer);
      this.#waiting.delete(answer.number);
    });
  }

  /** Makes the body of an attempt and stores it. */
  async make(request: EventMap['rollout.requested']): Promise<ObjectRef> {
    this.#number += 1;
    const number = this.#number;
    const answer = await new Promise<BodyAnswer>((resolve) => {
      this.#waiting.set(number, resolve);
      this.#thread.postMessage({ number, request } satisfies BodyRequest);
    });
    if ('error' in answer) throw new Error(`a body was not stored: ${answer.error}`);
    return answer.ref;
  }

  async stop(): Promise<void> {
    await this.#thread.terminate();
  }
}
