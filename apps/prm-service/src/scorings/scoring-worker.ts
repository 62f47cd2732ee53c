import { setTimeout as delay } from 'node:timers/promises';
import type { ScoringRequested } from '@espalier/contracts';
import { KafkaError, type Claim, type EventProducer, type KafkaPort, type WorkConsumer } from '@espalier/kafka';
import type { ServicePart } from '@espalier/nest';
import { verdictOfError, type RubricScorer } from './rubric-scorer.ts';
import { SCORER, undecodableReward } from './undecodable.ts';
import { rewardReported, type Verdict } from './verdict.ts';

/** Told of every verdict. */
export type OnVerdict = (verdict: Verdict, latencyMs: number) => void;

/** Claims scorings of the process judge and does them. */
export class ScoringWorker implements ServicePart {
  readonly #consumer: WorkConsumer;
  readonly #producer: EventProducer;
  readonly #scorer: RubricScorer;
  readonly #onVerdict: OnVerdict;

  constructor(
    kafka: Pick<KafkaPort, 'consumeWork' | 'producer'>,
    scorer: RubricScorer,
    options: { readonly workerId: string; readonly slots: number; readonly onVerdict: OnVerdict },
  ) {
    this.#scorer = scorer;
    this.#onVerdict = options.onVerdict;
    this.#producer = kafka.producer();
    this.#consumer = kafka.consumeWork({
      topic: 'scoring.requested',
      group: 'prm-service',
      work: 'SCORING',
      workerId: options.workerId,
      slots: options.slots,
      accepts: ({ scorer: name }) => name === SCORER,
      handler: (request, claim) => this.#handle(request, claim),
      onFailure: (request, claim, error) => this.#report(request, claim, verdictOfError(error), 0),
      onUndecodable: async (record, error) => {
        const event = undecodableReward(record, error, options.workerId);
        if (event) await this.#producer.send('reward.reported', event);
      },
    });
  }

  start(): Promise<void> {
    return this.#consumer.start();
  }

  drain(deadlineMs: number): Promise<void> {
    return this.#consumer.drain(deadlineMs);
  }

  stop(): Promise<void> {
    return this.#consumer.stop();
  }

  healthy(): boolean {
    return this.#consumer.healthy();
  }

  async #handle(request: ScoringRequested, claim: Claim): Promise<void> {
    const startedAt = performance.now();
    let verdict: Verdict;
    try {
      verdict = await this.#scorer.score(request, claim.signal);
    } catch (error) {
      // Nobody wants the verdict any more.
      if (claim.signal.aborted) return;
      throw error;
    }
    await this.#report(request, claim, verdict, performance.now() - startedAt);
  }

  async #report(request: ScoringRequested, claim: Claim, verdict: Verdict, latencyMs: number): Promise<void> {
    const event = rewardReported(request, claim, verdict, latencyMs);
    for (let wait = 100; ; wait = Math.min(wait * 2, 5_000)) {
      try {
        await this.#producer.send('reward.reported', event);
        break;
      } catch (error) {
        const retryable = error instanceof KafkaError && error.retryable;
        if (!retryable || claim.signal.aborted || Date.now() > request.deadline_at) throw error;
        await delay(wait);
      }
    }
    this.#onVerdict(verdict, latencyMs);
  }
}
