import { EventKeyError, keyOf, type MachineInput, type TopicName } from '@espalier/contracts';
import { DecodeError } from '@espalier/avro';
import { consumedEvent, partitionFor, type RawRecord } from '@espalier/kafka';

/** What a record is to its partition: input, something for another partition, or nothing that can be decided on. */
export type Admitted =
  | { readonly kind: 'input'; readonly input: MachineInput }
  | { readonly kind: 'foreign'; readonly key: string; readonly home: number }
  | { readonly kind: 'undecodable'; readonly error: DecodeError | EventKeyError };

/** Looks at a record as host and replay alike must. */
export function admit(topic: TopicName, record: RawRecord, partitions: number): Admitted {
  try {
    const { value } = consumedEvent(topic, record);
    const key = keyOf(topic, value);
    const home = key === null ? record.partition : partitionFor(key, partitions);
    if (key !== null && home !== record.partition) return { kind: 'foreign', key, home };
    const input = { topic, value, partition: record.partition, offset: record.offset } as MachineInput;
    return { kind: 'input', input };
  } catch (error) {
    if (error instanceof DecodeError || error instanceof EventKeyError) return { kind: 'undecodable', error };
    throw error;
  }
}
