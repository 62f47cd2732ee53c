import type { PolicyVersions } from '@espalier/gateway';
import type { BroadcastConsumer, KafkaPort } from '@espalier/kafka';

/** Feeds `policy.published` into what the gateway knows of policies. Every runner reads all of it, from the beginning. */
export class PolicyFeed {
  readonly #consumer: BroadcastConsumer;

  constructor(kafka: Pick<KafkaPort, 'broadcast'>, policies: PolicyVersions) {
    this.#consumer = kafka.broadcast({
      topics: ['policy.published'],
      from: 'earliest',
      handler: ({ value }) => policies.apply(value),
    });
  }

  /** Resolves when everything published before is known: no call is made with a version that was superseded. */
  async start(): Promise<void> {
    await this.#consumer.start();
    await this.#consumer.caughtUp();
  }

  stop(): Promise<void> {
    return this.#consumer.stop();
  }

  healthy(): boolean {
    return this.#consumer.healthy();
  }
}
