import type { ModelCalled } from '@espalier/contracts';
import { callIdFor } from '@espalier/contracts';
import { decodeEvent } from '@espalier/avro';
import { checkOut, type BodyStore } from '@espalier/gateway';
import type { EventProducer, RangeReader } from '@espalier/kafka';

/** Whose log it is. */
export interface LoggedAttempt {
  readonly runId: string;
  readonly groupId: string;
  readonly attemptId: string;
}

/** The model calls of attempts as recorded, for those who adopt them. */
export interface AttemptLog {
  /**
   * Appends the mark of an adoption and reads the attempt up to it. From then on records of lower epochs do not count.
   * @param from first offset of the attempt in its partition; null reads the partition from its start.
   */
  adopt(attempt: LoggedAttempt, epoch: number, from: number | null): Promise<ModelCalled[]>;
}

/** {@link AttemptLog} over `model.called`. */
export class KafkaAttemptLog implements AttemptLog {
  readonly #producer: Pick<EventProducer, 'send'>;
  readonly #reader: Pick<RangeReader, 'readRange'>;
  readonly #objects: Pick<BodyStore, 'get' | 'put'>;

  constructor(
    producer: Pick<EventProducer, 'send'>,
    reader: Pick<RangeReader, 'readRange'>,
    objects: Pick<BodyStore, 'get' | 'put'>,
  ) {
    this.#producer = producer;
    this.#reader = reader;
    this.#objects = objects;
  }

  async adopt(
    { runId, groupId, attemptId }: LoggedAttempt,
    epoch: number,
    from: number | null,
  ): Promise<ModelCalled[]> {
    const { partition, offset } = await this.#producer.send('model.called', {
      run_id: runId,
      group_id: groupId,
      attempt_id: attemptId,
      epoch,
      kind: 'ADOPTED',
      idempotency_key: `${attemptId}#${epoch}/adopted`,
      call_no: -1,
      call_id: callIdFor(attemptId, -1),
      prompt_suffix_ids: new Int32Array(0),
      output_ids: new Int32Array(0),
      output_logprobs: new Float32Array(0),
      version_runs: [],
    });
    const records: ModelCalled[] = [];
    for await (const { value, key } of this.#reader.readRange('model.called', partition, from ?? 0, offset + 1)) {
      if (value === null || key?.toString('utf8') !== attemptId) continue;
      records.push(await checkOut(decodeEvent('model.called', value), this.#objects));
    }
    return records;
  }
}
