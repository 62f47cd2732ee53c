import { parseId, rolloutIdFor, type RolloutRequested, type TrajectoryRecordedBody } from '@espalier/contracts';
import type { KafkaPort, RawRecord, WorkConsumer } from '@espalier/kafka';
import { failure, failureOf } from './failures.ts';
import { failed } from './outcome.ts';
import { NOTHING, recordedEvent } from './recorded-event.ts';
import { Rollout } from './rollout.ts';
import { DEFAULT_TIMINGS, type RolloutPorts, type RolloutTimings } from './rollout-ports.ts';

/** Options of {@link RolloutWorker}. */
export interface RolloutWorkerOptions {
  readonly workerId: string;
  /** Rollouts at a time. */
  readonly slots: number;
  readonly timings?: RolloutTimings;
}

/**
 * The terminal record of a request that does not decode, by the ids in its headers; null when those are damaged too, so that
 * only the group's own deadline can end the attempt.
 */
export function undecodableRecorded(record: RawRecord, error: Error, workerId: string): TrajectoryRecordedBody | null {
  const attemptId = record.headers['x-attempt-id'] ?? record.key?.toString('utf8') ?? '';
  let path: ReturnType<typeof parseId>;
  try {
    path = parseId(attemptId);
  } catch {
    return null;
  }
  if (path.rolloutIndex === undefined) return null;
  const request = {
    run_id: path.runId,
    group_id: path.groupId,
    rollout_id: rolloutIdFor(path.groupId, path.rolloutIndex),
    attempt_id: attemptId,
    harness: { name: 'unknown', version: null, config_json: '{}', weight: 1 },
  };
  const cause = failure('INFRA', 'REQUEST_UNDECODABLE', error.message, 'package', false);
  const claimId = `dead/${record.topic}/${record.partition}/${record.offset}`;
  return recordedEvent(request, { workerId, claimId, epoch: 0 }, failed(cause), NOTHING);
}

/** Claims attempts and runs them. */
export class RolloutWorker {
  readonly #consumer: WorkConsumer;
  readonly #options: RolloutWorkerOptions;
  readonly #ports: RolloutPorts;

  constructor(kafka: Pick<KafkaPort, 'consumeWork'>, ports: RolloutPorts, options: RolloutWorkerOptions) {
    this.#options = options;
    this.#ports = ports;
    this.#consumer = kafka.consumeWork({
      topic: 'rollout.requested',
      group: 'rollout-runner',
      work: 'ROLLOUT',
      workerId: options.workerId,
      slots: options.slots,
      handler: (request, claim) => new Rollout(request, claim, ports, options.timings ?? DEFAULT_TIMINGS).run(),
      onFailure: (request, claim, error) => this.#onFailure(request, claim, error),
      onUndecodable: async (record, error) => {
        const event = undecodableRecorded(record, error, options.workerId);
        if (event) await ports.producer.send('trajectory.recorded', event);
      },
    });
  }

  start(): Promise<void> {
    return this.#consumer.start();
  }

  /** Claims nothing more, waits up to `deadlineMs` for what is in hand, gives the rest back. */
  drain(deadlineMs: number): Promise<void> {
    return this.#consumer.drain(deadlineMs);
  }

  stop(): Promise<void> {
    return this.#consumer.stop();
  }

  healthy(): boolean {
    return this.#consumer.healthy();
  }

  /** Rollouts in hand. */
  get inFlight(): number {
    return this.#consumer.held().length;
  }

  async #onFailure(
    request: RolloutRequested,
    { workerId, claimId, epoch }: { workerId: string; claimId: string; epoch: number },
    error: unknown,
  ): Promise<void> {
    const cause = failureOf(error, 'record');
    this.#ports.observer.ended('FAILED', cause.code);
    const event = recordedEvent(request, { workerId, claimId, epoch }, failed(cause), NOTHING);
    await this.#ports.producer.send('trajectory.recorded', event);
  }
}
