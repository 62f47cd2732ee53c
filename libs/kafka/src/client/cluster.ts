import kafkajs, { type Assigner, type Cluster, type Consumer } from 'kafkajs';
import { KafkaClosedError, KafkaUnavailableError, reasonOf } from '../errors.ts';
import type { KafkaConnection } from '../port.ts';
import { createClient } from './client.ts';

/** Error names and types after which the view of the cluster is stale. */
const STALE = new Set([
  'UNKNOWN_TOPIC_OR_PARTITION',
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
  'REPLICA_NOT_AVAILABLE',
  'KAFKA_STORAGE_ERROR',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
]);

/** What kafkajs' errors carry. */
export interface ClientError extends Error {
  readonly type?: string;
  readonly retriable?: boolean;
  readonly host?: string;
  readonly port?: number;
  readonly topic?: string;
  readonly partition?: number;
  readonly cause?: unknown;
}

export const asClientError = (error: unknown): ClientError =>
  error instanceof Error ? error : new Error(reasonOf(error));

/** Unwraps `KafkaJSNumberOfRetriesExceeded` and its like. */
export function rootError(error: unknown): ClientError {
  let current = asClientError(error);
  while (current.cause instanceof Error) current = current.cause;
  return current;
}

/**
 * A bare connection to the cluster: metadata, offsets and single fetches, without a group. kafkajs hands its cluster to
 * partition assigners; the consumer it belongs to is never run, so it joins nothing.
 */
export class ClusterConnection {
  readonly #consumer: Consumer;
  readonly #cluster: Cluster;
  #connected: Promise<void> | undefined;
  #closed = false;
  readonly #topics = new Set<string>();

  constructor(connection: KafkaConnection, purpose: string) {
    let captured: Cluster | undefined;
    const capture = ({ cluster }: { cluster: Cluster }): Assigner => {
      captured = cluster;
      return {
        name: 'none',
        version: 1,
        assign: () => Promise.resolve([]),
        protocol: () => ({ name: 'none', metadata: Buffer.alloc(0) }),
      };
    };
    this.#consumer = createClient(connection, purpose).consumer({
      groupId: 'none',
      partitionAssigners: [capture],
      readUncommitted: false,
      allowAutoTopicCreation: false,
    });
    if (captured === undefined) throw new KafkaUnavailableError('this kafkajs does not hand out its cluster');
    this.#cluster = captured;
  }

  /** Connected, with the metadata of `topics` loaded. */
  async cluster(topics: readonly string[]): Promise<Cluster> {
    if (this.#closed) throw new KafkaClosedError('the connection');
    this.#connected ??= this.#cluster.connect();
    try {
      await this.#connected;
      const missing = topics.filter((topic) => !this.#topics.has(topic));
      if (missing.length > 0) {
        await this.#cluster.addMultipleTargetTopics([...missing]);
        for (const topic of missing) this.#topics.add(topic);
      }
      await this.#cluster.refreshMetadataIfNecessary();
    } catch (error) {
      this.#connected = undefined;
      throw error;
    }
    return this.#cluster;
  }

  /** After a failed request: forgets dead brokers and stale leaders, so that the next call sees the cluster as it is. */
  async recover(error: unknown): Promise<void> {
    const cause = rootError(error);
    if (this.#closed) return;
    try {
      if (cause.host !== undefined && cause.port !== undefined)
        this.#cluster.removeBroker({ host: cause.host, port: cause.port });
      this.#connected = undefined;
      if (
        STALE.has(cause.type ?? '') ||
        cause.name.startsWith('KafkaJSConnection') ||
        cause.name === 'KafkaJSBrokerNotFound'
      ) {
        await this.#cluster.connect();
        await this.#cluster.refreshMetadata();
      }
    } catch {
      // The next call meets the same fault and is what reports it.
    }
  }

  /** Leader of a partition; undefined while it has none. Metadata must be loaded. */
  leaderOf(topic: string, partition: number): string | undefined {
    return Object.keys(this.#cluster.findLeaderForPartitions(topic, [partition]))[0];
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#consumer.disconnect().catch(() => undefined);
  }
}

/** Isolation levels of the wire. */
export const READ_COMMITTED = 1;

export const { PartitionAssigners, AssignerProtocol } = kafkajs;
