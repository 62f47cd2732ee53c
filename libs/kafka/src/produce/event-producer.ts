import type { EventBodyMap, TopicName } from '@espalier/contracts';
import type {
  EventProducer,
  KafkaConnection,
  OutgoingEvent,
  OutgoingRecord,
  SendOptions,
  SendReceipt,
} from '../port.ts';
import type { BatchingProducer } from './batching-producer.ts';
import { stampEvent } from './stamp.ts';

/** {@link EventProducer} over a batching producer. */
export class StampingProducer implements EventProducer {
  readonly #sender: BatchingProducer;
  readonly #prefix: string;
  readonly #producer: string;

  constructor(sender: BatchingProducer, connection: KafkaConnection, name: string | undefined) {
    this.#sender = sender;
    this.#prefix = connection.prefix;
    this.#producer = name === undefined ? connection.clientId : `${connection.clientId}/${name}`;
  }

  async send<T extends TopicName>(topic: T, body: EventBodyMap[T], options?: SendOptions): Promise<SendReceipt> {
    const record = stampEvent(this.#prefix, this.#producer, topic, body, options);
    return { ...(await this.#sender.send(record)), eventId: record.eventId };
  }

  async sendAll(events: readonly OutgoingEvent[]): Promise<SendReceipt[]> {
    // All are stamped before any is sent: one that does not encode leaves nothing half said.
    const records = events.map(({ topic, value, options }) =>
      stampEvent(this.#prefix, this.#producer, topic, value, options),
    );
    return Promise.all(
      records.map(async (record) => ({ ...(await this.#sender.send(record)), eventId: record.eventId })),
    );
  }

  async sendRaw(record: OutgoingRecord): Promise<SendReceipt> {
    return { ...(await this.#sender.send(record)), eventId: record.headers?.['x-event-id'] ?? '' };
  }

  flush(): Promise<void> {
    return this.#sender.flush();
  }
}
