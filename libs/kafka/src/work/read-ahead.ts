import { DecodeError } from '@espalier/avro';
import { silentLogger } from '../client/log.ts';
import type { FailureRouter } from '../consume/dead-letter.ts';
import type { AssignedPartition } from '../consume/group-streams.ts';
import { reasonOf } from '../errors.ts';
import type { KafkaConnection, RawRecord } from '../port.ts';
import { consumedEvent } from '../records/decoded.ts';
import type { WorkOptions, WorkTopic } from '../work-port.ts';
import { HOPS_HEADER, type WaitingRequest } from './requests.ts';

/** Requests read ahead of the slots, a partition: enough to see adoptions and what has waited too long. */
export const READ_AHEAD = 32;
const ROOM_MS = 250;

/** Reads assigned partitions ahead into a list of waiting requests; what is not for this worker is passed by, what does not decode dead-lettered. */
export class ReadAhead<T extends WorkTopic> {
  /** Requests that wait for a slot. */
  waiting: WaitingRequest<T>[] = [];
  readonly #connection: KafkaConnection;
  readonly #router: FailureRouter;
  readonly #options: WorkOptions<T>;
  readonly #onRequest: () => void;
  #closed = false;

  constructor(connection: KafkaConnection, router: FailureRouter, options: WorkOptions<T>, onRequest: () => void) {
    this.#connection = connection;
    this.#router = router;
    this.#options = options;
    this.#onRequest = onRequest;
  }

  /** Takes nothing more; what waits stays in the log for others. */
  close(): void {
    this.#closed = true;
    this.waiting = [];
  }

  /** Forgets requests of generations that have ended. */
  prune(): void {
    this.waiting = this.waiting.filter(({ assigned }) => !assigned.signal.aborted);
  }

  /** Reads a partition ahead into the waiting list, at most {@link READ_AHEAD} requests. */
  async read(assigned: AssignedPartition): Promise<void> {
    const { stream, watermark, signal } = assigned;
    const room = (): boolean => this.waiting.filter((entry) => entry.assigned === assigned).length < READ_AHEAD;
    while (!signal.aborted) {
      await stream.ready();
      for (let chunk = stream.take(); chunk !== undefined; chunk = stream.take()) {
        for (const record of chunk.records) {
          while (!room() && !signal.aborted) await new Promise((resolve) => setTimeout(resolve, ROOM_MS));
          if (signal.aborted || this.#closed) return;
          await this.#accept(assigned, record, watermark.begin(record.offset));
          assigned.movedAt = Date.now();
        }
        if (signal.aborted) return;
        watermark.seenTo(chunk.nextOffset);
        this.#connection.observer?.consumed?.(this.#options.topic, this.#options.group, chunk.records.length);
      }
    }
  }

  async #accept(assigned: AssignedPartition, record: RawRecord, done: () => void): Promise<void> {
    const { topic, accepts } = this.#options;
    try {
      const { value: request } = consumedEvent(topic, record);
      if (accepts?.(request) === false || request.deadline_at < Date.now()) {
        done();
        return;
      }
      const hops = Number(record.headers[HOPS_HEADER] ?? 0) || 0;
      this.waiting.push({ request, record, assigned, done, since: Date.now(), hops, redirecting: false });
      this.#onRequest();
    } catch (error) {
      await this.#bury(assigned, record, error);
      done();
    }
  }

  /** Dead-letters a request; its failure event comes before the commit. Tries until it is stored or the generation ends. */
  async #bury(assigned: AssignedPartition, record: RawRecord, error: unknown): Promise<void> {
    while (!assigned.signal.aborted) {
      try {
        await this.#router.bury(this.#options.topic, record, error);
        if (error instanceof DecodeError) await this.#options.onUndecodable?.(record, error);
        return;
      } catch (failure) {
        (this.#connection.logger ?? silentLogger).error(
          { topic: record.topic, offset: record.offset, error: reasonOf(failure) },
          'request not dead-lettered yet',
        );
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
    }
  }
}
