import type { KafkaPort } from '@espalier/kafka';
import type { Logger } from 'pino';
import type { ManagerMetrics } from '../metrics/metrics.ts';
import type { SandboxEvents, SandboxFact } from './sandbox-events.ts';

/** Facts waiting for their acknowledgement beyond this many are dropped and counted: history must not eat memory. */
const MAX_PENDING = 5_000;
const MAX_MESSAGE = 1_000;

/** Produces `sandbox.reported`. */
export class KafkaSandboxEvents implements SandboxEvents {
  readonly #kafka: KafkaPort;
  readonly #metrics: ManagerMetrics;
  readonly #log: Logger;
  #pending = 0;
  #complained = 0;

  constructor(kafka: KafkaPort, metrics: ManagerMetrics, log: Logger) {
    this.#kafka = kafka;
    this.#metrics = metrics;
    this.#log = log;
  }

  report(fact: SandboxFact): void {
    if (this.#pending >= MAX_PENDING) {
      this.#metrics.eventsLost.inc();
      return;
    }
    this.#pending += 1;
    this.#kafka
      .producer()
      .send('sandbox.reported', {
        run_id: fact.runId,
        sandbox_id: fact.sandboxId,
        kind: fact.kind,
        owner: fact.owner,
        image: fact.image,
        isolation: fact.isolation,
        job_id: fact.jobId ?? null,
        command_digest: fact.commandDigest ?? null,
        exit_code: fact.exitCode ?? null,
        duration_ms: fact.durationMs === undefined ? null : Math.round(fact.durationMs),
        failure: fact.failure
          ? {
              class: 'INFRA',
              code: fact.failure.code,
              message: fact.failure.message.slice(0, MAX_MESSAGE),
              stage: 'sandbox',
              retryable: fact.failure.retryable,
            }
          : null,
        message: (fact.message ?? '').slice(0, MAX_MESSAGE),
      })
      .catch((error: unknown) => {
        this.#metrics.eventsLost.inc();
        // Once in a while: a broker that is down would fill the log.
        if (Date.now() - this.#complained > 10_000) {
          this.#complained = Date.now();
          this.#log.warn({ err: error }, 'sandbox.reported could not be produced');
        }
      })
      .finally(() => (this.#pending -= 1));
  }

  close(): Promise<void> {
    return this.#kafka.close();
  }
}
