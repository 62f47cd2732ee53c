import { createHash } from 'node:crypto';
import {
  canonicalJson,
  EventKeyError,
  keyOf,
  type Effects,
  type MachineInput,
  type Rejection,
  type StateMachine,
} from '@espalier/contracts';
import { derivedId, MAX_RECORD_BYTES, stampEvent, type StampedRecord } from '@espalier/kafka';
import { ProcessorBugError } from '../errors.ts';
import { Overlay, type KeyedStore, type StoredEntry } from '../state/keyed-store.ts';
import type { Timers } from '../state/timers.ts';

/** Largest entry of a state, bytes of its JSON. */
export const MAX_ENTRY_BYTES = 64 * 1024;

/** Beginnings of keys that belong to the host. */
const RESERVED = ['position/', 'timer/', 'processor/'];

/** Who steps. */
export interface StepIdentity {
  readonly prefix: string;
  readonly partition: number;
  readonly transactionNo: number;
  /** `<machine>/<instance>`. */
  readonly producer: string;
}

/** What one input record, or one timer, came to. */
export interface Outcome {
  /** What is to be dead-lettered: the input, or the event a rejection names. */
  readonly rejections: readonly Rejection[];
  /** Set when the machine threw: the input is to be dead-lettered with it. */
  readonly bug: ProcessorBugError | undefined;
}

/**
 * The decisions of one transaction: each sees the effects of those before it, and all of them become true together, or none. Pure but
 * for what it collects, so that the host, a replay and a test in memory step alike.
 */
export class Step {
  readonly outputs: StampedRecord[] = [];
  readonly fired: string[] = [];
  /** Bytes of outputs and entries so far. */
  bytes = 0;
  readonly #machine: StateMachine;
  readonly #identity: StepIdentity;
  readonly #now: number;
  readonly #state: Overlay;
  readonly #timers = new Map<string, number | null>();
  readonly #digested: string[] = [];
  /** Canonical JSON of the entries written here: it is needed for the digest and for the changelog. */
  readonly #json = new Map<StoredEntry, string>();

  constructor(machine: StateMachine, store: KeyedStore, identity: StepIdentity, now: number) {
    this.#machine = machine;
    this.#identity = identity;
    this.#now = now;
    this.#state = new Overlay(store);
  }

  /** Decides on one record. Never throws: a machine that does has the record's subject abandoned. */
  decide(input: MachineInput): Outcome {
    const decided = this.#attempt(() => this.#machine.decide(this.#state, input, this.#now));
    if (!(decided instanceof ProcessorBugError)) return { rejections: decided.rejections, bug: undefined };
    const cause = decided.cause instanceof Error ? decided.cause : decided;
    const abandoned = this.#attempt(() => this.#machine.abandon(this.#state, input, cause, this.#now));
    if (abandoned instanceof ProcessorBugError)
      return { rejections: [], bug: new ProcessorBugError('abandoning after a failed decision', abandoned) };
    return { rejections: abandoned.rejections, bug: decided };
  }

  /** Fires one timer, which is thereby cleared. Never throws. */
  fire(timer: string): Outcome {
    this.#timers.set(timer, null);
    this.fired.push(timer);
    const effects = this.#attempt(() => this.#machine.fire(this.#state, timer, this.#now));
    return effects instanceof ProcessorBugError
      ? { rejections: [], bug: effects }
      : { rejections: effects.rejections, bug: undefined };
  }

  /** Whether a timer that was set before this step is still to fire, as far as this step has come. */
  stillSet(timer: string): boolean {
    return !this.#timers.has(timer);
  }

  /** Entries that changed, in key order. */
  entries(): [string, StoredEntry | null][] {
    return this.#state.delta();
  }

  /** Timers set or cleared, in key order. */
  timers(): [string, number | null][] {
    return [...this.#timers].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** SHA-256 over outputs in order, changed entries and timers: what a replay must reproduce. */
  digest(): string {
    const hash = createHash('sha256');
    hash.update(JSON.stringify(this.#digested));
    hash.update(
      `[${this.entries()
        .map(([key, entry]) => `[${JSON.stringify(key)},${this.#entryJson(entry)}]`)
        .join(',')}]`,
    );
    hash.update(JSON.stringify(this.timers()));
    return hash.digest('hex');
  }

  /** The value of an entry of {@link entries} as canonical JSON. */
  jsonOf(entry: StoredEntry): string {
    return this.#json.get(entry) ?? canonicalJson(entry.value);
  }

  /** An entry as canonical JSON, made of its value's. */
  #entryJson(entry: StoredEntry | null): string {
    return entry === null ? 'null' : `{"kind":${JSON.stringify(entry.kind)},"value":${this.jsonOf(entry)}}`;
  }

  /** Makes the step true in memory, once it is true in the log. */
  applyTo(store: KeyedStore, timers: Timers): void {
    for (const [key, entry] of this.entries()) store.set(key, entry);
    for (const [key, at] of this.#timers) timers.set(key, at);
  }

  /** Runs the machine, and takes its effects over only if every one of them can be stored. */
  #attempt(run: () => Effects): Effects | ProcessorBugError {
    try {
      const effects = run();
      const outputs = effects.outputs.map((output, index) => this.#stamp(output, this.outputs.length + index));
      const entries = [...effects.entries].map(([key, entry]) => [key, checkedEntry(key, entry)] as const);
      for (const [key, at] of effects.timers)
        if (at !== null && !Number.isFinite(at)) throw new TypeError(`timer ${key} is set to ${at}`);
      for (const [key, entry] of entries) {
        this.#state.write(key, entry?.stored ?? null);
        if (entry !== null) this.#json.set(entry.stored, entry.json);
        this.bytes += (entry?.bytes ?? 0) + key.length;
      }
      for (const [key, at] of effects.timers) this.#timers.set(key, at);
      for (const [index, record] of outputs.entries()) {
        this.outputs.push(record);
        this.bytes += record.value?.length ?? 0;
        const output = effects.outputs[index];
        this.#digested.push(canonicalJson([output?.topic ?? '', output?.value ?? null]));
      }
      return effects;
    } catch (error) {
      return new ProcessorBugError(`${this.#machine.name}, partition ${this.#identity.partition}`, error);
    }
  }

  #stamp(output: Effects['outputs'][number], index: number): StampedRecord {
    const { prefix, partition, transactionNo, producer } = this.#identity;
    const key = keyOf(output.topic, output.value as never);
    if (key === null) throw new EventKeyError(output.topic, 'key');
    const record = stampEvent(prefix, producer, output.topic, output.value, {
      eventId: derivedId(this.#machine.name, partition, transactionNo, index),
      occurredAt: this.#now,
    });
    if ((record.value?.length ?? 0) > MAX_RECORD_BYTES - 4096)
      throw new RangeError(`${output.topic}: an event of ${record.value?.length} bytes; use a claim check`);
    return record;
  }
}

function checkedEntry(
  key: string,
  entry: { readonly kind: string; readonly value: object } | null,
): { readonly stored: StoredEntry; readonly json: string; readonly bytes: number } | null {
  if (key === '' || RESERVED.some((reserved) => key.startsWith(reserved)))
    throw new RangeError(`entry key "${key}" belongs to the host`);
  if (entry === null) return null;
  const json = canonicalJson(entry.value);
  const bytes = Buffer.byteLength(json);
  if (bytes > MAX_ENTRY_BYTES)
    throw new RangeError(`entry ${key} (${entry.kind}) takes ${bytes} bytes, ${MAX_ENTRY_BYTES} allowed; split it`);
  return { stored: { kind: entry.kind, value: JSON.parse(json) as StoredEntry['value'] }, json, bytes };
}
