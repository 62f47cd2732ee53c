import { retryTopicOf, topicOf, type TopicName } from '@espalier/contracts';
import { silentLogger } from '../client/log.ts';
import { reasonOf } from '../errors.ts';
import type { Consumer, FactsOptions, KafkaConnection, KafkaLogger, RawRecord, TopicAdmin } from '../port.ts';
import type { BatchingProducer } from '../produce/batching-producer.ts';
import { consumedEvent, topicNameOf } from '../records/decoded.ts';
import { FailureRouter, retryDelays } from './dead-letter.ts';
import { GroupStreams, type AssignedPartition } from './group-streams.ts';

const STOP_MS = 10_000;
const ROUTE_BACKOFF_MS = 1_000;

/**
 * {@link KafkaPort.consumeFacts}. A record ends handled, in a retry topic or in the dead letters, and only then may its offset
 * be committed.
 */
export class FactsConsumer<T extends TopicName> implements Consumer {
  readonly #connection: KafkaConnection;
  readonly #options: FactsOptions<T>;
  readonly #logger: KafkaLogger;
  readonly #router: FailureRouter;
  readonly #streams: GroupStreams;
  readonly #concurrency: number;

  constructor(connection: KafkaConnection, admin: TopicAdmin, sender: BatchingProducer, options: FactsOptions<T>) {
    this.#connection = connection;
    this.#options = options;
    this.#logger = connection.logger ?? silentLogger;
    this.#router = new FailureRouter(connection, sender, options.group);
    this.#concurrency = Math.max(1, options.concurrency ?? 1);
    const { prefix } = connection;
    this.#streams = new GroupStreams(connection, admin, {
      group: options.group,
      topics: options.topics.flatMap((topic) => [
        topicOf(prefix, topic),
        ...retryDelays(topic, options.group).map((delayMs) => retryTopicOf(prefix, topic, options.group, delayMs)),
      ]),
      from: options.from ?? 'earliest',
      ...(options.timings === undefined ? {} : { timings: options.timings }),
      consume: (assigned) => this.#consume(assigned),
    });
  }

  start(): Promise<void> {
    return this.#streams.start();
  }

  stop(): Promise<void> {
    return this.#streams.stop(STOP_MS);
  }

  healthy(): boolean {
    return this.#streams.healthy();
  }

  async #consume(assigned: AssignedPartition): Promise<void> {
    const { stream, watermark, signal } = assigned;
    const topic = topicNameOf(this.#connection.prefix, assigned.topic) as T;
    const underWay = new Set<Promise<void>>();
    const lastOfKey = new Map<string, Promise<void>>();
    while (!signal.aborted) {
      await stream.ready();
      for (let chunk = stream.take(); chunk !== undefined && !signal.aborted; chunk = stream.take()) {
        for (const record of chunk.records) {
          while (underWay.size >= this.#concurrency) await Promise.race(underWay);
          await notBefore(record, assigned);
          if (signal.aborted) break;
          const done = watermark.begin(record.offset);
          const key = record.key?.toString('base64') ?? '';
          const before = lastOfKey.get(key) ?? Promise.resolve();
          const work: Promise<void> = before
            .then(() => this.#settle(topic, record, signal))
            .then((settled) => {
              if (settled) done();
              assigned.movedAt = Date.now();
              underWay.delete(work);
              if (lastOfKey.get(key) === work) lastOfKey.delete(key);
            });
          underWay.add(work);
          lastOfKey.set(key, work);
        }
        if (!signal.aborted) watermark.seenTo(chunk.nextOffset);
        this.#connection.observer?.consumed?.(topic, this.#options.group, chunk.records.length);
      }
    }
    await Promise.all(underWay);
  }

  /** True once the record needs no more attention; false when the generation ended before that was sure. */
  async #settle(topic: T, record: RawRecord, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    let failure: unknown;
    try {
      await this.#options.handler(consumedEvent(topic, record));
      return true;
    } catch (error) {
      failure = error;
    }
    const terminal =
      typeof failure === 'object' && failure !== null && 'retryable' in failure && failure.retryable === false;
    for (;;) {
      try {
        await (terminal ? this.#router.bury(topic, record, failure) : this.#router.retry(topic, record, failure));
        return true;
      } catch (error) {
        this.#logger.error(
          {
            topic,
            group: this.#options.group,
            partition: record.partition,
            offset: record.offset,
            error: reasonOf(error),
          },
          'failed record could not be moved on; its partition waits',
        );
        if (signal.aborted) return false;
        await new Promise((resolve) => setTimeout(resolve, ROUTE_BACKOFF_MS));
      }
    }
  }
}

/** Waits until a retried record is due; records of one retry topic come due in order. */
async function notBefore(record: RawRecord, assigned: AssignedPartition): Promise<void> {
  const { signal } = assigned;
  const due = Number(record.headers['x-not-before'] ?? 0);
  const wait = due - Date.now();
  if (!(wait > 0) || signal.aborted) return;
  // Waiting until then is no stall.
  assigned.movedAt = Math.max(assigned.movedAt, due);
  await new Promise<void>((resolve) => {
    const timer = setTimeout(finish, wait);
    function finish(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      resolve();
    }
    signal.addEventListener('abort', finish);
  });
}
