import { profiles, type TopicName } from '@espalier/contracts';
import { KafkaTopicAdmin } from './admin/topic-admin.ts';
import { DirectBroadcast } from './consume/broadcast.ts';
import { FactsConsumer } from './consume/facts.ts';
import { KafkaClosedError, KafkaConfigError } from './errors.ts';
import { Follower } from './fetch/follower.ts';
import { DirectRangeReader } from './fetch/range-reader.ts';
import { KafkaGroupMembership } from './groups/membership.ts';
import type {
  BroadcastConsumer,
  BroadcastOptions,
  Consumer,
  EventProducer,
  FactsOptions,
  KafkaConnection,
  KafkaPort,
  RangeReader,
  TopicAdmin,
} from './port.ts';
import type { GroupMembership, GroupOptions, PartitionFollower, TransactionalProducer } from './processing-port.ts';
import { BatchingProducer } from './produce/batching-producer.ts';
import { StampingProducer } from './produce/event-producer.ts';
import { KafkaTransactionalProducer } from './produce/transactional.ts';
import type { WorkConsumer, WorkOptions, WorkTopic } from './work-port.ts';
import { Rulings } from './work/rulings.ts';
import { ClaimingConsumer } from './work/work-consumer.ts';

const FLUSH_MS = 5_000;
const CLOSE_MS = 15_000;

/** Opens the port. Connects when first used. */
export function openKafka(connection: KafkaConnection): KafkaPort {
  if (connection.brokers.length === 0) throw new KafkaConfigError('no broker given: set ESPALIER_KAFKA_BROKERS');
  if (!/^[a-zA-Z0-9][a-zA-Z0-9_-]*$/.test(connection.prefix))
    throw new KafkaConfigError(`prefix "${connection.prefix}": letters, digits, "-" and "_" only`);
  return new KafkaJsPort(connection);
}

/** {@link KafkaPort} on kafkajs. */
class KafkaJsPort implements KafkaPort {
  readonly connection: KafkaConnection;
  readonly partitions: number;
  readonly #admin: KafkaTopicAdmin;
  readonly #sender: BatchingProducer;
  readonly #producers = new Map<string, EventProducer>();
  readonly #consumers: Consumer[] = [];
  readonly #closers = new Set<{ close(): Promise<void> }>();
  readonly #rulings: Rulings;
  #closed: Promise<void> | undefined;

  constructor(connection: KafkaConnection) {
    this.connection = connection;
    this.partitions = profiles[connection.profile].partitions;
    this.#admin = new KafkaTopicAdmin(connection);
    this.#sender = new BatchingProducer(connection, this.partitions, 'producer');
    this.#rulings = new Rulings(
      (handler) =>
        new DirectBroadcast(connection, {
          topics: ['rollout.ruled'],
          from: 'latest',
          handler: ({ value }) => handler(value),
        }),
    );
  }

  get admin(): TopicAdmin {
    return this.#admin;
  }

  producer(name?: string): EventProducer {
    this.#assertOpen();
    const key = name ?? '';
    const known = this.#producers.get(key);
    if (known !== undefined) return known;
    const producer = new StampingProducer(this.#sender, this.connection, name);
    this.#producers.set(key, producer);
    return producer;
  }

  consumeWork<T extends WorkTopic>(options: WorkOptions<T>): WorkConsumer {
    this.#assertOpen();
    const consumer = new ClaimingConsumer(
      {
        connection: this.connection,
        admin: this.#admin,
        producer: this.producer(),
        sender: this.#sender,
        rulings: this.#rulings,
        partitions: this.partitions,
      },
      options,
    );
    this.#consumers.push(consumer);
    return consumer;
  }

  consumeFacts<T extends TopicName>(options: FactsOptions<T>): Consumer {
    this.#assertOpen();
    const consumer = new FactsConsumer(this.connection, this.#admin, this.#sender, options);
    this.#consumers.push(consumer);
    return consumer;
  }

  broadcast<T extends TopicName>(options: BroadcastOptions<T>): BroadcastConsumer {
    this.#assertOpen();
    const consumer = new DirectBroadcast(this.connection, options);
    this.#consumers.push(consumer);
    return consumer;
  }

  reader(): RangeReader {
    return this.#owned(new DirectRangeReader(this.connection));
  }

  follow(name: string): PartitionFollower {
    return this.#owned(new Follower(this.connection, name));
  }

  joinGroup(options: GroupOptions): GroupMembership {
    this.#assertOpen();
    const membership = new KafkaGroupMembership(this.connection, options);
    this.#closers.add({ close: () => membership.stop() });
    return membership;
  }

  transactional(id: string): TransactionalProducer {
    const producer: KafkaTransactionalProducer = new KafkaTransactionalProducer(
      this.connection,
      this.partitions,
      id,
      () => this.#closers.delete(producer),
    );
    return this.#owned(producer);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_MS)));
    await Promise.race([this.#closeInOrder(), late]);
    clearTimeout(timer);
  }

  async #closeInOrder(): Promise<void> {
    await Promise.allSettled(this.#consumers.map((consumer) => consumer.stop()));
    await this.#sender.close(FLUSH_MS);
    await Promise.allSettled([this.#rulings.stop(), ...[...this.#closers].map((closer) => closer.close())]);
    await this.#admin.close();
  }

  #owned<C extends { close(): Promise<void> }>(closer: C): C {
    this.#assertOpen();
    this.#closers.add(closer);
    return closer;
  }

  #assertOpen(): void {
    if (this.#closed !== undefined) throw new KafkaClosedError(`kafka of ${this.connection.clientId}`);
  }
}
