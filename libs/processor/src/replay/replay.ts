import type { JournalEntry, StateMachine, TopicName } from '@espalier/contracts';
import type { RangeReader } from '@espalier/kafka';
import { KeyedStore } from '../state/keyed-store.ts';
import { Timers } from '../state/timers.ts';
import { admit } from '../step/admission.ts';
import { Step } from '../step/step.ts';

/** What the replay of one transaction gave. */
export interface Replayed {
  readonly partition: number;
  readonly transactionNo: number;
  /** Records decided on. */
  readonly records: number;
  readonly timers: number;
  /** SHA-256 over the effects, now and as journalled. */
  readonly digest: string;
  readonly journalled: string;
  readonly matches: boolean;
}

/** What a {@link Replay} needs. */
export interface ReplayOptions {
  readonly machine: StateMachine;
  readonly reader: Pick<RangeReader, 'readRange'>;
  readonly prefix: string;
  readonly partition: number;
  readonly partitions: number;
}

/**
 * Drives a machine again through one partition's journal: the same records in the same order at the same times must have the same
 * effects, byte for byte. Starts from the empty state, so the journal has to be whole.
 */
export class Replay {
  readonly store = new KeyedStore();
  readonly timers = new Timers();
  readonly #options: ReplayOptions;

  constructor(options: ReplayOptions) {
    this.#options = options;
  }

  /** Replays one entry; entries come in the order of their transactions. */
  async apply(entry: JournalEntry): Promise<Replayed> {
    const { machine, reader, prefix, partition, partitions } = this.#options;
    const identity = { prefix, partition, transactionNo: entry.transaction_no, producer: entry.producer };
    const step = new Step(machine, this.store, identity, entry.now);
    let records = 0;
    for (const { topic, first_offset: first, last_offset: last } of entry.applied)
      for await (const record of reader.readRange(topic, partition, first, last + 1)) {
        const admitted = admit(topic as TopicName, record, partitions);
        if (admitted.kind !== 'input') continue;
        step.decide(admitted.input);
        records += 1;
      }
    const fired = JSON.parse(entry.timers_json) as string[];
    for (const timer of fired) step.fire(timer);
    const digest = step.digest();
    step.applyTo(this.store, this.timers);
    return {
      partition,
      transactionNo: entry.transaction_no,
      records,
      timers: fired.length,
      digest,
      journalled: entry.effects_digest,
      matches: digest === entry.effects_digest,
    };
  }
}
