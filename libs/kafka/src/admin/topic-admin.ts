import {
  groupIdOf,
  nameOfTopic,
  physicalTopics,
  profiles,
  type KindSettings,
  type PhysicalTopic,
  type TopicName,
} from '@espalier/contracts';
import type { Admin, ITopicConfig } from 'kafkajs';
import { createClient } from '../client/client.ts';
import { ClusterConnection, rootError } from '../client/cluster.ts';
import { KafkaTopologyError, KafkaUnavailableError } from '../errors.ts';
import type { DescribedTopic, KafkaConnection, PartitionLag, PartitionOffset, TopicAdmin } from '../port.ts';
import { physicalTopic } from '../records/decoded.ts';
import { DataLagMeter } from './data-lag.ts';
import { boundary } from './offsets.ts';

const CREATE_AT_ONCE = 40;
const VISIBLE_MS = 90_000;

/** {@link TopicAdmin} on kafkajs' admin client and plain offset requests. */
export class KafkaTopicAdmin implements TopicAdmin {
  readonly #connection: KafkaConnection;
  readonly #cluster: ClusterConnection;
  readonly #meter: DataLagMeter;
  #admin: Promise<Admin> | undefined;

  constructor(connection: KafkaConnection) {
    this.#connection = connection;
    this.#cluster = new ClusterConnection(connection, 'admin-offsets');
    this.#meter = new DataLagMeter(this.#cluster);
  }

  async ensureTopics(only?: readonly TopicName[]): Promise<void> {
    const { prefix, profile } = this.#connection;
    const wanted = physicalTopics(prefix).filter(({ name }) => only?.includes(name) ?? true);
    const { partitions } = profiles[profile];
    const until = Date.now() + VISIBLE_MS;
    for (;;) {
      const existing = new Map((await this.describe()).map((topic) => [topic.topic, topic.partitions]));
      const wrong = wanted
        .filter(({ topic }) => existing.has(topic) && existing.get(topic) !== partitions)
        .map(({ topic }) => `${topic} has ${existing.get(topic)} partitions, profile ${profile} wants ${partitions}`);
      if (wrong.length > 0) throw new KafkaTopologyError(wrong);
      const missing = wanted.filter(({ topic }) => !existing.has(topic));
      if (missing.length === 0) return;
      if (Date.now() > until) throw new KafkaTopologyError(missing.map(({ topic }) => `${topic} is missing`));
      for (let at = 0; at < missing.length; at += CREATE_AT_ONCE)
        await this.#create(missing.slice(at, at + CREATE_AT_ONCE));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async #create(topics: readonly PhysicalTopic[]): Promise<void> {
    await this.#ask('creating topics', (admin) =>
      // Another service may create them at the same moment; what counts is what stands afterwards.
      admin
        .createTopics({ waitForLeaders: false, timeout: 15_000, topics: topics.map((topic) => this.#configOf(topic)) })
        .catch((error: unknown) => {
          if (!mentionsExisting(error)) throw error;
          return false;
        }),
    );
  }

  async describe(): Promise<DescribedTopic[]> {
    const { prefix } = this.#connection;
    const { topics } = await this.#ask('listing topics', (admin) => admin.fetchTopicMetadata());
    return topics
      .filter(({ name }) => name.startsWith(`${prefix}.`) && nameOfTopic(prefix, name) !== undefined)
      .map(({ name, partitions }) => ({
        topic: name,
        name: nameOfTopic(prefix, name),
        partitions: partitions.length,
      }))
      .sort((a, b) => (a.topic < b.topic ? -1 : 1));
  }

  endOffsets(topic: string): Promise<PartitionOffset[]> {
    return boundary(this.#cluster, this.#physical(topic), 'end');
  }

  startOffsets(topic: string): Promise<PartitionOffset[]> {
    return boundary(this.#cluster, this.#physical(topic), 'start');
  }

  async groupOffsets(group: string, topic: string): Promise<PartitionOffset[]> {
    const physical = this.#physical(topic);
    const found = await this.#ask(`offsets of group ${group}`, (admin) =>
      admin.fetchOffsets({ groupId: groupIdOf(this.#connection.prefix, group), topics: [physical] }),
    );
    return found
      .flatMap(({ partitions }) => partitions)
      .map(({ partition, offset }) => ({ partition, offset: Number(offset) }))
      .filter(({ offset }) => offset >= 0)
      .sort((a, b) => a.partition - b.partition);
  }

  async dataLag(group: string, topic: string): Promise<PartitionLag[]> {
    const physical = this.#physical(topic);
    const committed = new Map(
      (await this.groupOffsets(group, physical)).map(({ partition, offset }) => [partition, offset]),
    );
    const starts = new Map((await this.startOffsets(physical)).map(({ partition, offset }) => [partition, offset]));
    const lags: PartitionLag[] = [];
    for (const { partition, offset: end } of await this.endOffsets(physical)) {
      const from = Math.max(committed.get(partition) ?? 0, starts.get(partition) ?? 0);
      const { lag, exact } = await this.#meter.count(`${group}/${physical}`, physical, partition, from, end);
      lags.push({ topic: physical, partition, committed: committed.get(partition) ?? null, end, lag, exact });
    }
    return lags;
  }

  async close(): Promise<void> {
    await this.#cluster.close();
    const opening = this.#admin;
    this.#admin = undefined;
    await opening?.then((admin) => admin.disconnect()).catch(() => undefined);
  }

  #physical(topic: string): string {
    return physicalTopic(this.#connection.prefix, topic);
  }

  async #ask<R>(what: string, request: (admin: Admin) => Promise<R>): Promise<R> {
    let last: unknown;
    for (let attempt = 0; attempt < 3; attempt += 1) {
      try {
        this.#admin ??= this.#open();
        return await request(await this.#admin);
      } catch (error) {
        last = rootError(error);
        const failed = this.#admin;
        this.#admin = undefined;
        await failed?.then((admin) => admin.disconnect()).catch(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, 200 * 2 ** attempt));
      }
    }
    throw new KafkaUnavailableError(what, last);
  }

  async #open(): Promise<Admin> {
    const admin = createClient(this.#connection, 'admin').admin({ retry: { retries: 8, initialRetryTime: 50 } });
    await admin.connect();
    return admin;
  }

  #configOf({ topic, kind }: PhysicalTopic): ITopicConfig {
    const { profile } = this.#connection;
    const { partitions, replication, minInsyncReplicas, kinds } = profiles[profile];
    return {
      topic,
      numPartitions: partitions,
      replicationFactor: replication,
      configEntries: Object.entries(settingsOf(kinds[kind], minInsyncReplicas, profile)).map(([name, value]) => ({
        name,
        value,
      })),
    };
  }
}

function settingsOf(
  settings: KindSettings,
  minInsyncReplicas: number,
  profile: KafkaConnection['profile'],
): Record<string, string> {
  const { compact, segmentBytes, retentionMs, maxCompactionLagMs, minCleanableDirtyRatio } = settings;
  return {
    'min.insync.replicas': String(minInsyncReplicas),
    'segment.bytes': String(segmentBytes),
    // The broker stores what this client can read, whatever codec a foreign producer chose (kafkajs has no snappy or lz4).
    'compression.type': profile === 'production' ? 'zstd' : 'uncompressed',
    ...(compact === true
      ? {
          'cleanup.policy': 'compact',
          'min.cleanable.dirty.ratio': String(minCleanableDirtyRatio ?? 0.5),
          ...(maxCompactionLagMs === undefined ? {} : { 'max.compaction.lag.ms': String(maxCompactionLagMs) }),
        }
      : { 'cleanup.policy': 'delete', 'retention.ms': String(retentionMs ?? -1) }),
  };
}

function mentionsExisting(error: unknown): boolean {
  const errors = (error as { errors?: { type?: string }[] }).errors ?? [error as { type?: string }];
  return errors.length > 0 && errors.every(({ type }) => type === 'TOPIC_ALREADY_EXISTS');
}
