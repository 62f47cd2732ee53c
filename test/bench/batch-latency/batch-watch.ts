import type { EventMap } from '@espalier/contracts';
import type { BroadcastConsumer, KafkaPort } from '@espalier/kafka';
import { now } from '../measure/clock.ts';

/** A batch, and when a consumer of this process had its manifest. */
export interface SeenBatch {
  readonly runId: string;
  readonly at: number;
  readonly event: EventMap['batch.offered'];
}

/** Consumes `batch.offered` as any learner or downstream service does. */
export class BatchWatch {
  readonly seen: SeenBatch[] = [];
  readonly #consumer: BroadcastConsumer;

  constructor(kafka: KafkaPort) {
    this.#consumer = kafka.broadcast({
      topics: ['batch.offered'],
      from: 'latest',
      handler: ({ value }) => {
        this.seen.push({ runId: value.run_id ?? '', at: now(), event: value });
      },
    });
  }

  start(): Promise<void> {
    return this.#consumer.start();
  }

  stop(): Promise<void> {
    return this.#consumer.stop();
  }

  /**
   * Milliseconds from the acknowledgement of the last reward among a batch's trajectories to its manifest, for batches of
   * a run seen in a window.
   */
  latencies(runId: string, from: number, to: number, rewardedAt: ReadonlyMap<string, number>): number[] {
    return this.#within(runId, from, to).flatMap(({ at, event }) => {
      const rewards = event.entries.flatMap(({ trajectory_id: id }) => rewardedAt.get(id) ?? []);
      return rewards.length === event.entries.length ? [Math.max(0, at - Math.max(...rewards))] : [];
    });
  }

  /** Trajectories in batches of a run seen in a window. */
  trajectories(runId: string, from: number, to: number): number {
    return this.#within(runId, from, to).reduce((sum, { event }) => sum + event.entries.length, 0);
  }

  #within(runId: string, from: number, to: number): SeenBatch[] {
    return this.seen.filter((batch) => batch.runId === runId && batch.at >= from && batch.at < to);
  }
}
