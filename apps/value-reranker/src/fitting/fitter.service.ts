import { setTimeout as delay } from 'node:timers/promises';
import { topicOf } from '@espalier/contracts';
import type { GroupMembership, KafkaPort } from '@espalier/kafka';
import type { ServicePart } from '@espalier/nest';
import type { ModelStore } from '../models/model-store.ts';
import type { Fitter } from './fitter.ts';

/** Structured log lines. */
export interface FitterLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Group whose owner of partition 0 fits. It fetches nothing and commits nothing. */
const LEASE_GROUP = 'value-reranker-fitter';

/** Every replica looks for new models; the one that holds the lease also fits them. */
export class FitterService implements ServicePart {
  readonly #lease: GroupMembership;
  readonly #stopping = new AbortController();
  #owner = false;
  #loop: Promise<void> | undefined;

  constructor(
    kafka: KafkaPort,
    readonly fitter: Fitter,
    readonly models: ModelStore,
    readonly options: {
      readonly intervalMs: number;
      readonly log: FitterLog;
      readonly onFatal: (error: Error) => void;
    },
  ) {
    const topic = topicOf(kafka.connection.prefix, 'trajectory.scored');
    this.#lease = kafka.joinGroup({
      group: LEASE_GROUP,
      topics: [topic],
      onAssigned: ({ partitions }) => {
        this.#owner = partitions.get(topic)?.includes(0) ?? false;
        options.log.info({ fitter: this.#owner }, 'lease of the fitter');
      },
      onRevoked: () => {
        this.#owner = false;
      },
      onFatal: options.onFatal,
    });
  }

  get owner(): boolean {
    return this.#owner;
  }

  async start(): Promise<void> {
    await this.#lease.start();
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    await this.#lease.stop();
  }

  async #run(): Promise<void> {
    const { intervalMs, log } = this.options;
    while (!this.#stopping.signal.aborted) {
      try {
        await this.models.refresh();
        const stored = this.#owner ? await this.fitter.step(() => this.#owner) : null;
        if (stored) log.info({ version: stored.model.version, examples: stored.model.examples }, 'value model fitted');
      } catch (error) {
        log.warn({ err: error }, 'fitting failed; trying again');
      }
      await delay(intervalMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
  }
}
