import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelCalledBody } from '@espalier/contracts';
import { checkIn, type BodyStore, type CallRecorder, type ModelCallRecord } from '@espalier/gateway';
import type { EventProducer } from '@espalier/kafka';

/** Options of {@link KafkaCallRecorder}. */
export interface CallRecorderOptions {
  readonly producer: Pick<EventProducer, 'send'>;
  readonly objects: BodyStore;
  readonly runId: string;
  /** Gives up: the claim is over. */
  readonly signal: AbortSignal;
  /** How long a broker that is away is waited for, milliseconds. */
  readonly patienceMs: number;
  /** Told once, with the first record's offset in its partition. */
  readonly onFirst: (offset: number) => void;
}

const retryable = (error: unknown): boolean => (error as { retryable?: unknown } | null)?.retryable === true;

/**
 * Records model calls in `model.called`. A record that may or may not have been stored is sent again as the same event;
 * readers count a call once.
 */
export class KafkaCallRecorder implements CallRecorder {
  readonly #options: CallRecorderOptions;
  #first = true;

  constructor(options: CallRecorderOptions) {
    this.#options = options;
  }

  async record(call: ModelCallRecord): Promise<void> {
    const { objects, runId } = this.#options;
    const { occurred_at: occurredAt, ...body } = await checkIn(call, objects, `runs/${runId}/calls`);
    const { offset } = await this.#send(body, occurredAt);
    if (this.#first) {
      this.#first = false;
      this.#options.onFirst(offset);
    }
  }

  async #send(body: ModelCalledBody, occurredAt: number): Promise<{ readonly offset: number }> {
    const { producer, signal, patienceMs } = this.#options;
    const until = performance.now() + patienceMs;
    for (let wait = 100; ; wait = Math.min(wait * 2, 5_000)) {
      signal.throwIfAborted();
      try {
        return await producer.send('model.called', body, { occurredAt });
      } catch (error) {
        if (!retryable(error) || performance.now() + wait > until) throw error;
        await sleep(wait, undefined, { signal }).catch(() => signal.throwIfAborted());
      }
    }
  }
}
