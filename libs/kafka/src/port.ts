import type { ConnectionOptions } from 'node:tls';
import type { EventBodyMap, EventMap, TopicName } from '@espalier/contracts';
import type { DecodeError } from '@espalier/avro';
import type { EventOf, WorkConsumer, WorkOptions, WorkTopic } from './work-port.ts';
import type { GroupMembership, GroupOptions, PartitionFollower, TransactionalProducer } from './processing-port.ts';

/** Structured logger; pino's loggers fit. */
export interface KafkaLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Told of everything that is counted; all methods must be quick and must not throw. */
export interface KafkaObserver {
  produced?(topic: string, records: number): void;
  consumed?(topic: string, group: string, records: number): void;
  retried?(topic: string, group: string, code: string): void;
  deadLettered?(topic: string, group: string, code: string): void;
}

/** How to reach the cluster, and as whom. */
export interface KafkaConnection {
  /** `host:port` of one or more brokers. */
  readonly brokers: string[];
  /** Instance name; also the `producer` field of every event. */
  readonly clientId: string;
  /** Begins every topic, group and transactional id. */
  readonly prefix: string;
  readonly profile: 'embedded' | 'production';
  readonly ssl?: boolean | ConnectionOptions;
  readonly sasl?: { mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; username: string; password: string };
  readonly logger?: KafkaLogger;
  readonly observer?: KafkaObserver;
}

/** An offset of one partition. */
export interface PartitionOffset {
  readonly partition: number;
  readonly offset: number;
}

/** A record as it lies in the log. */
export interface RawRecord {
  /** Physical topic. */
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds UTC. */
  readonly timestamp: number;
}

/** Where an event came from. */
export interface EventContext {
  readonly topic: TopicName;
  readonly partition: number;
  readonly offset: number;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds UTC. */
  readonly timestamp: number;
}

/** A decoded event with its context; a union over `T`, discriminated by `topic`. */
export type ConsumedEvent<T extends TopicName> = {
  [K in T]: { readonly topic: K; readonly value: EventMap[K]; readonly context: EventContext };
}[T];

/** A stored record, decoded where possible. */
export interface StoredEvent<T extends TopicName> {
  readonly topic: T;
  readonly partition: number;
  readonly offset: number;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds UTC. */
  readonly timestamp: number;
  /** null for a tombstone or bytes that do not decode. */
  readonly value: EventMap[T] | null;
  /** Set when the bytes do not decode. */
  readonly error: DecodeError | null;
}

/** Lag of one partition in data records (transaction markers do not count). */
export interface PartitionLag {
  readonly topic: string;
  readonly partition: number;
  readonly committed: number | null;
  /** End of committed data (last stable offset). */
  readonly end: number;
  readonly lag: number;
  /** False when the range is so long that only its first part was counted, and the rest estimated. */
  readonly exact: boolean;
}

/** A topic as the broker has it. */
export interface DescribedTopic {
  readonly topic: string;
  readonly name: TopicName | undefined;
  readonly partitions: number;
}

/** Topics, offsets and lag. `topic` is a catalogue name or a physical topic. All methods throw {@link KafkaError}s. */
export interface TopicAdmin {
  /**
   * Creates what is missing of the catalogue (retry and dead-letter topics with it); idempotent and safe to race.
   * Throws `KAFKA_TOPOLOGY` when a topic exists with another partition count. `only` limits it to some catalogue topics.
   */
  ensureTopics(only?: readonly TopicName[]): Promise<void>;
  /** End of committed data (last stable offset) of every partition, by partition. */
  endOffsets(topic: string): Promise<PartitionOffset[]>;
  startOffsets(topic: string): Promise<PartitionOffset[]>;
  /** Committed offsets of a group (without prefix) on a topic; partitions without a commit are left out. */
  groupOffsets(group: string, topic: string): Promise<PartitionOffset[]>;
  /** Topics of this prefix that exist. */
  describe(): Promise<DescribedTopic[]>;
  /** Lag of a group (without prefix), in data records. A partition never committed counts from its start. */
  dataLag(group: string, topic: string): Promise<PartitionLag[]>;
}

/** Options of one send. */
export interface SendOptions {
  /** Default: `partitionFor(keyOf(event))`. */
  readonly partition?: number;
  /** The record key, for topics whose key the producer chooses. */
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: derived from `idempotency_key` when there is one, else random. */
  readonly eventId?: string;
  /** Milliseconds UTC; default now. */
  readonly occurredAt?: number;
}

/** Where an event was stored. */
export interface SendReceipt {
  readonly partition: number;
  readonly offset: number;
  readonly eventId: string;
}

/** A record to produce as it is. */
export interface OutgoingRecord {
  /** Physical topic. */
  readonly topic: string;
  readonly key: Buffer | string | null;
  readonly value: Buffer | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: by key; any partition when there is none. */
  readonly partition?: number;
}

/**
 * Produces events: acks all, idempotent, in order per caller, concurrent sends batched while a request is in flight.
 * Throws `AVRO_ENCODE`, `EVENT_KEY_MISSING`, `KAFKA_RECORD_TOO_LARGE` (terminal) or `KAFKA_UNAVAILABLE` (retryable; the record may
 * still have been stored).
 */
export interface EventProducer {
  /** Stamps event_id, occurred_at and producer, and stores the event. Resolves when it is acknowledged. */
  send<T extends TopicName>(topic: T, body: EventBodyMap[T], options?: SendOptions): Promise<SendReceipt>;
  /** Sends in order; resolves when all are acknowledged. */
  sendAll(events: readonly OutgoingEvent[]): Promise<SendReceipt[]>;
  /** Stores bytes as they are. */
  sendRaw(record: OutgoingRecord): Promise<SendReceipt>;
  /** Waits until all that was sent is acknowledged or failed. */
  flush(): Promise<void>;
}

/** One event for {@link EventProducer.sendAll}. */
export type OutgoingEvent = {
  [T in TopicName]: { readonly topic: T; readonly value: EventBodyMap[T]; readonly options?: SendOptions };
}[TopicName];

/** Something that consumes until it is stopped. */
export interface Consumer {
  /** Resolves when consuming has begun. */
  start(): Promise<void>;
  /** Lets the handlers in hand finish (bounded), commits, leaves. */
  stop(): Promise<void>;
  /** False when it has data but does not move, or has crashed: restart the process. */
  healthy(): boolean;
}

/** Options of {@link KafkaPort.consumeFacts}. */
export interface FactsOptions<T extends TopicName> {
  /** A consumer of all `topics` in the catalogue, without prefix. */
  readonly group: string;
  readonly topics: readonly T[];
  /**
   * Success, `TerminalError` (dead letter), or anything else: tried again through the retry topics, then dead-lettered.
   * Delivered at least once; in order per partition (per key when `concurrency` is above 1) until a retry.
   */
  readonly handler: (event: ConsumedEvent<T>) => Promise<void>;
  /** Records of one partition handled at the same time; default 1. */
  readonly concurrency?: number;
  /** Where a group without a committed offset begins; default `earliest`. */
  readonly from?: 'earliest' | 'latest';
  readonly timings?: Partial<ConsumerTimings>;
}

/** Times of group consumers, milliseconds. */
export interface ConsumerTimings {
  readonly sessionTimeoutMs: number;
  readonly heartbeatMs: number;
  readonly rebalanceTimeoutMs: number;
  /** Unhealthy when a partition with data did not move for this long. */
  readonly stallMs: number;
}

/** Options of {@link KafkaPort.broadcast}. */
export interface BroadcastOptions<T extends TopicName> {
  readonly topics: readonly T[];
  /** `latest`: everything produced after `start()` resolved. */
  readonly from: 'latest' | 'earliest';
  /** In order per partition. What it throws is logged and dropped: nothing is committed, there is no one to retry. */
  readonly handler: (event: ConsumedEvent<T>) => void | Promise<void>;
  /** Told of records that do not decode; default: logged. */
  readonly onUndecodable?: (record: RawRecord, error: DecodeError) => void;
}

/** A broadcast consumer; see {@link KafkaPort.broadcast}. */
export interface BroadcastConsumer extends Consumer {
  /** Next offset to be handled, by topic and partition: everything below was handled. */
  position(topic: TopicName, partition: number): number;
  /** Resolves when everything stored before this call was handled. */
  caughtUp(): Promise<void>;
}

/** Reads ranges of partitions by offset, without any group. One connection, kept open. */
export interface RangeReader {
  /**
   * Committed records of `[from, to)` in order, transaction markers and aborted records left out; ends at `to` even when the
   * last offsets are markers. `to` defaults to the end at the time of the call. Throws `KAFKA_STALLED` after 30 s without progress.
   */
  readRange(topic: string, partition: number, from: number, to?: number): AsyncIterable<RawRecord>;
  /** Every partition of a topic one after another, decoded. Missing bounds are the start and the end at the time of the call. */
  readAll<T extends TopicName>(
    topic: T,
    range?: { readonly from?: readonly PartitionOffset[]; readonly to?: readonly PartitionOffset[] },
  ): AsyncIterable<StoredEvent<T>>;
  close(): Promise<void>;
}

/** Everything Espalier does with Kafka. kafkajs lies behind it and nowhere else. */
export interface KafkaPort {
  readonly connection: KafkaConnection;
  /** Partition count of every topic of this deployment. */
  readonly partitions: number;
  readonly admin: TopicAdmin;
  /** A producer; the same name gives the same one. `name` is appended to the instance in the `producer` field. */
  producer(name?: string): EventProducer;
  consumeWork<T extends WorkTopic>(options: WorkOptions<T>): WorkConsumer;
  consumeFacts<T extends TopicName>(options: FactsOptions<T>): Consumer;
  /** This instance reads every partition, outside any group. */
  broadcast<T extends TopicName>(options: BroadcastOptions<T>): BroadcastConsumer;
  reader(): RangeReader;
  /** For processors: follows single partitions from given offsets. */
  follow(name: string): PartitionFollower;
  /** For processors: membership of a group, which assigns partitions and fetches nothing. */
  joinGroup(options: GroupOptions): GroupMembership;
  /** For processors: a transactional producer; `id` gets the prefix. */
  transactional(id: string): TransactionalProducer;
  /** Stops consumers, flushes producers, disconnects; bounded in time (about 15 s). */
  close(): Promise<void>;
}

export type { EventOf };
