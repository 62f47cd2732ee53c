import { canonicalJson, topicOf, type StateMachine, type TopicName } from '@espalier/contracts';
import { decodeEvent, encodeEvent } from '@espalier/avro';
import { derivedId, type OutgoingRecord, type RawRecord } from '@espalier/kafka';
import { ProcessorStateError } from '../errors.ts';
import type { StepIdentity } from '../step/step.ts';
import { KeyedStore, type StoredEntry } from '../state/keyed-store.ts';
import { Timers } from '../state/timers.ts';

const POSITION = 'position/';
const TIMER = 'timer/';
const HEAD = 'processor/head';
const BARRIER = 'processor/barrier';

/** Everything a task knows of its partition. */
export interface PartitionState {
  readonly store: KeyedStore;
  readonly timers: Timers;
  /** Next offset to apply, by topic. */
  readonly positions: Map<TopicName, number>;
  /** Number of the last transaction. */
  transactionNo: number;
  /** The last `now` used, milliseconds UTC. */
  lastNow: number;
  /** Changelog offset up to which this is folded. */
  changelogOffset: number;
}

/** The state of a partition that was never written. */
export const emptyState = (): PartitionState => ({
  store: new KeyedStore(),
  timers: new Timers(),
  positions: new Map(),
  transactionNo: 0,
  lastNow: 0,
  changelogOffset: 0,
});

/** Turns changes of a partition's state into records of the state topic, and back. */
export class Changelog {
  readonly #machine: StateMachine;
  readonly #topic: string;
  readonly #identity: Omit<StepIdentity, 'transactionNo'>;

  constructor(machine: StateMachine, identity: Omit<StepIdentity, 'transactionNo'>) {
    this.#machine = machine;
    this.#identity = identity;
    this.#topic = topicOf(identity.prefix, machine.stateTopic);
  }

  get topic(): string {
    return this.#topic;
  }

  /** The record that a restore reads up to. */
  barrier(id: string, now: number): OutgoingRecord {
    return this.#record(BARRIER, { kind: 'barrier', value: { id } }, `barrier/${id}`, now);
  }

  /** One transaction's changes. */
  delta(change: {
    readonly entries: readonly (readonly [string, StoredEntry | null])[];
    readonly timers: readonly (readonly [string, number | null])[];
    readonly positions: readonly (readonly [TopicName, number])[];
    readonly transactionNo: number;
    readonly now: number;
    /** Canonical JSON of an entry's value, where it was made already. */
    readonly jsonOf?: (entry: StoredEntry) => string;
  }): OutgoingRecord[] {
    const { transactionNo, now, jsonOf } = change;
    const wrapped: (readonly [string, StoredEntry | null])[] = [
      ...change.entries,
      ...change.timers.map(
        ([key, at]) => [TIMER + key, at === null ? null : { kind: 'timer', value: { at } }] as const,
      ),
      ...change.positions.map(([topic, next]) => [POSITION + topic, { kind: 'position', value: { next } }] as const),
      [HEAD, { kind: 'head', value: { transaction_no: transactionNo, now } }],
    ];
    return wrapped.map(([key, entry]) => this.#record(key, entry, `${transactionNo}/${key}`, now, jsonOf));
  }

  /** Folds one record of the state topic into `state`. Throws {@link ProcessorStateError}. */
  fold(state: PartitionState, record: RawRecord): void {
    const key = record.key?.toString('utf8') ?? '';
    state.changelogOffset = record.offset + 1;
    if (key === '' || key === BARRIER) return;
    const entry = record.value === null ? null : this.#entryOf(record, record.value);
    if (key === HEAD) {
      state.transactionNo = numberIn(entry, 'transaction_no');
      state.lastNow = numberIn(entry, 'now');
    } else if (key.startsWith(POSITION))
      state.positions.set(key.slice(POSITION.length) as TopicName, numberIn(entry, 'next'));
    else if (key.startsWith(TIMER))
      state.timers.set(key.slice(TIMER.length), entry === null ? null : numberIn(entry, 'at'));
    else state.store.load(key, entry);
  }

  #entryOf(record: RawRecord, bytes: Buffer): StoredEntry {
    const place = `${this.#topic}/${record.partition} at ${record.offset}`;
    try {
      const { kind, state_version: version, value_json: json } = decodeEvent(this.#machine.stateTopic, bytes);
      if (version > this.#machine.stateVersion)
        throw new ProcessorStateError(
          `${place}: state version ${version}, this ${this.#machine.name} knows ${this.#machine.stateVersion}; run the newer version`,
        );
      return { kind, value: JSON.parse(json) as StoredEntry['value'] };
    } catch (error) {
      if (error instanceof ProcessorStateError) throw error;
      throw new ProcessorStateError(`${place}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #record(
    key: string,
    entry: StoredEntry | null,
    id: string,
    now: number,
    jsonOf: (entry: StoredEntry) => string = ({ value }) => canonicalJson(value),
  ): OutgoingRecord {
    const { partition, producer } = this.#identity;
    const base = { topic: this.#topic, key, partition };
    if (entry === null) return { ...base, value: null };
    return {
      ...base,
      value: encodeEvent(this.#machine.stateTopic, {
        event_id: derivedId(this.#machine.name, partition, 'state', id),
        occurred_at: now,
        producer,
        kind: entry.kind,
        state_version: this.#machine.stateVersion,
        value_json: jsonOf(entry),
      }),
    };
  }
}

function numberIn(entry: StoredEntry | null, field: string): number {
  const value = entry?.value[field];
  return typeof value === 'number' ? value : 0;
}
