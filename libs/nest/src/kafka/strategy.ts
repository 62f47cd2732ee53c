import { topicNames, type TopicName } from '@espalier/contracts';
import type { Consumer, KafkaPort, WorkConsumer, WorkTimings, WorkTopic } from '@espalier/kafka';
import { Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import { lastValueFrom } from 'rxjs';
import type { ServicePart } from '../lifecycle/lifecycle.ts';
import { EspalierContext } from './event-context.ts';

/** Second argument of `@EventPattern(topic, extras)`. */
export type PatternExtras =
  | { readonly kind: 'facts'; readonly group: string; readonly concurrency?: number }
  | { readonly kind: 'broadcast'; readonly from?: 'latest' | 'earliest' }
  | {
      readonly kind: 'work';
      readonly group: string;
      readonly work: 'ROLLOUT' | 'SCORING';
      readonly slots: number;
      readonly timings?: Partial<WorkTimings>;
    }
  /** The failure handler of the work pattern with the same topic and group; gets `{ request, error }`. */
  | { readonly kind: 'failure'; readonly group: string };

/** `KAFKA_PATTERN`: an `@EventPattern` that this transport cannot serve. */
export class PatternError extends Error {
  readonly code = 'KAFKA_PATTERN';
  readonly retryable = false;
}

type Run = (payload: unknown, context: EspalierContext) => Promise<void>;

const names = new Set<string>(topicNames);

/**
 * `@EventPattern` handlers over libs/kafka. A handler ends in success, a terminal or a retryable error; what becomes of the record
 * is the consumer's to do, not Nest's. Needs {@link passErrorsOfHandlers} before it is connected ({@link bootstrapService} sees to it).
 */
export class EspalierKafkaStrategy extends Server implements CustomTransportStrategy, ServicePart {
  override readonly propagatesEventHandlerErrors = true;
  readonly #kafka: KafkaPort;
  readonly #workerId: string;
  readonly #consumers: Consumer[] = [];
  readonly #workers: WorkConsumer[] = [];

  constructor(kafka: KafkaPort, workerId: string) {
    super();
    this.#kafka = kafka;
    this.#workerId = workerId;
  }

  /** Called by Nest when the handlers are known. Consuming begins with {@link start}. */
  listen(callback: (error?: unknown) => void): void {
    try {
      this.#build();
      callback();
    } catch (error) {
      callback(error);
    }
  }

  async start(): Promise<void> {
    for (const consumer of [...this.#consumers, ...this.#workers]) await consumer.start();
  }

  async drain(deadlineMs: number): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.drain(deadlineMs)));
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#consumers, ...this.#workers].map((consumer) => consumer.stop()));
  }

  healthy(): boolean {
    return [...this.#consumers, ...this.#workers].every((consumer) => consumer.healthy());
  }

  /** Called by Nest when the application closes. */
  close(): Promise<void> {
    return this.stop();
  }

  on(): void {
    throw new PatternError('this transport emits no events of its own');
  }

  unwrap<T>(): T {
    return this.#kafka as unknown as T;
  }

  #build(): void {
    const facts = new Map<string, { topics: TopicName[]; concurrency: number; runs: Map<TopicName, Run[]> }>();
    const failures = new Map<string, Run>();
    const works: { topic: WorkTopic; extras: Extract<PatternExtras, { kind: 'work' }>; run: Run }[] = [];
    for (const { topic, extras, run } of this.#patterns())
      switch (extras.kind) {
        case 'facts': {
          const known = facts.get(extras.group) ?? { topics: [], concurrency: 1, runs: new Map<TopicName, Run[]>() };
          if (!known.topics.includes(topic)) known.topics.push(topic);
          known.concurrency = Math.max(known.concurrency, extras.concurrency ?? 1);
          known.runs.set(topic, [...(known.runs.get(topic) ?? []), run]);
          facts.set(extras.group, known);
          break;
        }
        case 'broadcast':
          this.#consumers.push(
            this.#kafka.broadcast({
              topics: [topic],
              from: extras.from ?? 'latest',
              handler: ({ value, context }) => run(value, new EspalierContext([context, undefined])),
            }),
          );
          break;
        case 'work':
          if (topic !== 'rollout.requested' && topic !== 'scoring.requested')
            throw new PatternError(`${topic} is not a work topic`);
          works.push({ topic, extras, run });
          break;
        case 'failure':
          failures.set(`${topic}/${extras.group}`, run);
          break;
      }
    for (const [group, { topics, concurrency, runs }] of facts)
      this.#consumers.push(
        this.#kafka.consumeFacts({
          group,
          topics,
          concurrency,
          handler: async ({ topic, value, context }) => {
            for (const run of runs.get(topic) ?? []) await run(value, new EspalierContext([context, undefined]));
          },
        }),
      );
    for (const { topic, extras, run } of works) {
      const failure = failures.get(`${topic}/${extras.group}`);
      if (failure === undefined)
        throw new PatternError(`${topic}, group ${extras.group}: a work handler needs one of kind "failure" beside it`);
      this.#workers.push(
        this.#kafka.consumeWork({
          topic,
          group: extras.group,
          work: extras.work,
          workerId: this.#workerId,
          slots: extras.slots,
          handler: (request, claim) => run(request, new EspalierContext([undefined, claim])),
          onFailure: (request, claim, error) => failure({ request, error }, new EspalierContext([undefined, claim])),
          ...(extras.timings === undefined ? {} : { timings: extras.timings }),
        }),
      );
    }
  }

  /** Every handler of every pattern; Nest chains those of one pattern. */
  *#patterns(): Iterable<{ topic: TopicName; extras: PatternExtras; run: Run }> {
    for (const [pattern, first] of this.messageHandlers)
      for (const handler of unchained(first)) {
        if (!names.has(pattern)) throw new PatternError(`@EventPattern('${pattern}'): no topic of the catalogue`);
        if (handler.isEventHandler !== true)
          throw new PatternError(`'${pattern}': use @EventPattern; there is no request-reply over Kafka`);
        const extras = handler.extras as PatternExtras | undefined;
        if (extras?.kind === undefined)
          throw new PatternError(`@EventPattern('${pattern}', { kind: ... }): say facts, broadcast, work or failure`);
        yield {
          topic: pattern as TopicName,
          extras,
          run: async (payload, context) => {
            await lastValueFrom(this.transformToObservable(await handler(payload, context)), {
              defaultValue: undefined,
            });
          },
        };
      }
  }
}

/** The handlers of one pattern, cut apart: Nest's call of one runs all behind it, whatever their kind. */
function unchained(first: MessageHandler): MessageHandler[] {
  const handlers: MessageHandler[] = [];
  for (let handler: MessageHandler | undefined = first; handler !== undefined; handler = handler.next)
    handlers.push(handler);
  for (const handler of handlers) delete handler.next;
  return handlers;
}
