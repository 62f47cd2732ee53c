import { parseId, type RewardReportedBody, type ScoringRequested } from '@espalier/contracts';
import type { Claim, KafkaPort, RawRecord, WorkConsumer } from '@espalier/kafka';
import { rewardReported } from './scoring-event.ts';
import { DEFAULT_TIMINGS, type ScoringPorts, type ScoringTimings } from './scoring-ports.ts';
import { Scoring, verdictOfError } from './scoring.ts';
import { rewardOf, unscored } from './verdict.ts';

/** The scorer that this service is. Requests for others belong to other services. */
export const SCORER = 'verifier';

/** Options of {@link ScoringWorker}. */
export interface ScoringWorkerOptions {
  readonly workerId: string;
  /** Scorings at a time. */
  readonly slots: number;
  readonly timings?: ScoringTimings;
}

const WORK_ID = /^(.+\/t)\/([^/@]+)@([^#]*)#\d+$/;

/**
 * The verdict on a request that does not decode, by the ids in its headers; null when they are damaged, or name a scorer of
 * another service.
 */
export function undecodableReward(record: RawRecord, error: Error, workerId: string): RewardReportedBody | null {
  const workId = record.headers['x-work-id'] ?? '';
  const [, trajectoryId, scorer, version] = WORK_ID.exec(workId) ?? [];
  if (trajectoryId === undefined || scorer !== SCORER || version === undefined) return null;
  let path: ReturnType<typeof parseId>;
  try {
    path = parseId(trajectoryId);
  } catch {
    return null;
  }
  const request = {
    run_id: path.runId,
    group_id: path.groupId,
    attempt_id: trajectoryId.slice(0, -'/t'.length),
    trajectory_id: trajectoryId,
    work_id: workId,
  };
  const verdict = unscored('INFRA_ERROR', 'REQUEST_UNDECODABLE', error.message, false);
  const reward = rewardOf({ scorer, scorer_version: version, required: true }, verdict);
  const claimId = `dead/${record.topic}/${record.partition}/${record.offset}`;
  return rewardReported(request, { workerId, claimId, epoch: 0 }, reward, { latencyMs: 0, evidence: null });
}

/** Claims scorings of the verifier and does them. */
export class ScoringWorker {
  readonly #consumer: WorkConsumer;
  readonly #ports: ScoringPorts;

  constructor(kafka: Pick<KafkaPort, 'consumeWork'>, ports: ScoringPorts, options: ScoringWorkerOptions) {
    this.#ports = ports;
    this.#consumer = kafka.consumeWork({
      topic: 'scoring.requested',
      group: 'reward-scorer',
      work: 'SCORING',
      workerId: options.workerId,
      slots: options.slots,
      accepts: ({ scorer }) => scorer === SCORER,
      handler: (request, claim) => new Scoring(request, claim, ports, options.timings ?? DEFAULT_TIMINGS).run(),
      onFailure: (request, claim, error) => this.#onFailure(request, claim, error),
      onUndecodable: async (record, error) => {
        const event = undecodableReward(record, error, options.workerId);
        if (event) await ports.producer.send('reward.reported', event);
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

  /** Scorings in hand. */
  get inFlight(): number {
    return this.#consumer.held().length;
  }

  async #onFailure(request: ScoringRequested, { workerId, claimId, epoch }: Claim, error: unknown): Promise<void> {
    const verdict = verdictOfError(error);
    this.#ports.observer.scored(verdict.status, verdict.failure?.code ?? '', 0);
    const identity = { workerId, claimId, epoch };
    const event = rewardReported(request, identity, rewardOf(request, verdict), { latencyMs: 0, evidence: null });
    await this.#ports.producer.send('reward.reported', event);
  }
}
