import type { EventMap, TopicName } from '@espalier/contracts';
import type { KafkaPort } from '@espalier/kafka';

interface SeenRecord {
  readonly topic: TopicName;
  readonly value: { readonly run_id: string | null };
}

/** What the plane has said so far, from the beginning of its log: one consumer for all waits of a suite. */
export class SeenEvents {
  readonly #records: SeenRecord[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #consumer: ReturnType<KafkaPort['broadcast']>;

  constructor(kafka: KafkaPort, topics: readonly TopicName[]) {
    this.#consumer = kafka.broadcast({
      topics: [...topics],
      from: 'earliest',
      handler: ({ topic, value }) => {
        this.#records.push({ topic, value });
        for (const wake of [...this.#waiting]) wake();
      },
    });
  }

  start(): Promise<void> {
    return this.#consumer.start();
  }

  stop(): Promise<void> {
    return this.#consumer.stop();
  }

  /** Events of a topic and run, in the order seen. */
  of<T extends TopicName>(topic: T, runId: string): EventMap[T][] {
    return this.#records
      .filter((record) => record.topic === topic && record.value.run_id === runId)
      .map((record) => record.value as EventMap[T]);
  }

  /** Resolves once `enough` holds of the events of a topic and run. */
  async until<T extends TopicName>(
    topic: T,
    runId: string,
    enough: (events: EventMap[T][]) => boolean,
    timeoutMs: number,
  ): Promise<EventMap[T][]> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const events = this.of(topic, runId);
      if (enough(events)) return events;
      const left = deadline - Date.now();
      if (left <= 0)
        throw new Error(`${topic} of ${runId}: ${events.length} events within ${timeoutMs} ms, not the ones wanted`);
      await new Promise<void>((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          this.#waiting.delete(done);
          resolve();
        };
        const timer = setTimeout(done, left);
        this.#waiting.add(done);
      });
    }
  }

  /** The run's last report. */
  async ended(runId: string, timeoutMs: number): Promise<EventMap['run.reported']> {
    const reports = await this.until(
      'run.reported',
      runId,
      (events) => events.some(({ kind }) => kind === 'ENDED'),
      timeoutMs,
    );
    const last = reports.find(({ kind }) => kind === 'ENDED');
    if (!last) throw new Error(`run ${runId} has not ended`);
    return last;
  }
}
