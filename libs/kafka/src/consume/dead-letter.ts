import { deadTopicOf, retryTopicOf, topics, type TopicName } from '@espalier/contracts';
import { codeOf, KafkaConfigError, reasonOf } from '../errors.ts';
import type { KafkaConnection, OutgoingRecord, RawRecord } from '../port.ts';
import type { BatchingProducer } from '../produce/batching-producer.ts';

const MESSAGE_CHARS = 500;

/** Retry delays of a group on a topic. Throws `KAFKA_CONFIG` when the catalogue does not list the group there. */
export function retryDelays(topic: TopicName, group: string): readonly number[] {
  const consumer = topics[topic].consumers.find((entry) => entry.group === group);
  if (consumer === undefined)
    throw new KafkaConfigError(
      `group ${group} is not a consumer of ${topic} in the catalogue, so it has no dead-letter topic there; add it to schemas/catalogue.json, or use broadcast`,
    );
  return consumer.retryDelaysMs;
}

/** Headers that say where a failed record came from, how often it was tried and why it failed. */
export function failureHeaders(record: RawRecord, error: unknown, now: number): Record<string, string> {
  const { headers } = record;
  return {
    ...headers,
    'x-original-topic': headers['x-original-topic'] ?? record.topic,
    'x-original-partition': headers['x-original-partition'] ?? String(record.partition),
    'x-original-offset': headers['x-original-offset'] ?? String(record.offset),
    'x-original-timestamp': headers['x-original-timestamp'] ?? String(record.timestamp),
    'x-attempt': String(Number(headers['x-attempt'] ?? '0') + 1),
    'x-error-class': error instanceof Error ? error.name : typeof error,
    'x-error-code': codeOf(error),
    'x-error-message': reasonOf(error).slice(0, MESSAGE_CHARS),
    'x-first-failed-at': headers['x-first-failed-at'] ?? String(now),
  };
}

/** The record as a dead letter of `group`: bytes untouched, reasons in headers. */
export function deadLetter(
  prefix: string,
  topic: TopicName,
  group: string,
  record: RawRecord,
  error: unknown,
): OutgoingRecord {
  const { 'x-not-before': _notBefore, ...headers } = failureHeaders(record, error, Date.now());
  return { topic: deadTopicOf(prefix, topic, group), key: record.key, value: record.value, headers };
}

/** Moves failed records on: to the next retry topic while there is one, then to the dead letters. */
export class FailureRouter {
  readonly #connection: KafkaConnection;
  readonly #sender: BatchingProducer;
  readonly #group: string;

  constructor(connection: KafkaConnection, sender: BatchingProducer, group: string) {
    this.#connection = connection;
    this.#sender = sender;
    this.#group = group;
  }

  /** Stores the record as a dead letter. Its caller commits afterwards. */
  async bury(topic: TopicName, record: RawRecord, error: unknown): Promise<void> {
    const code = codeOf(error);
    await this.#sender.send(deadLetter(this.#connection.prefix, topic, this.#group, record, error));
    this.#connection.observer?.deadLettered?.(topic, this.#group, code);
    this.#connection.logger?.warn(
      {
        topic,
        group: this.#group,
        partition: record.partition,
        offset: record.offset,
        code,
        error: reasonOf(error),
      },
      'record dead-lettered',
    );
  }

  /** Stores the record for another try, or as a dead letter when all were used. */
  async retry(topic: TopicName, record: RawRecord, error: unknown): Promise<void> {
    const delays = retryDelays(topic, this.#group);
    const tried = Number(record.headers['x-attempt'] ?? '0');
    const delayMs = delays[tried];
    if (delayMs === undefined) return this.bury(topic, record, error);
    const now = Date.now();
    await this.#sender.send({
      topic: retryTopicOf(this.#connection.prefix, topic, this.#group, delayMs),
      key: record.key,
      value: record.value,
      headers: { ...failureHeaders(record, error, now), 'x-not-before': String(now + delayMs) },
    });
    this.#connection.observer?.retried?.(topic, this.#group, codeOf(error));
  }
}
