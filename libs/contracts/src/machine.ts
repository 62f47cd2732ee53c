import type { EventBodyMap, EventMap, TopicName } from './generated/maps.ts';

/**
 * The contract between a processor host (libs/processor) and a pure state machine (libs/coordination). A machine never
 * reads a clock, a random source or anything outside its arguments: a replay of the journal gives the same effects.
 */

/** A state entry: plain JSON, at most 64 KiB when serialised. */
export type EntryValue = { readonly [field: string]: unknown };

/** Read access to one partition's state, with the effects of the current transaction already visible. */
export interface StateView {
  get<T extends EntryValue>(key: string): T | undefined;
  /** Entries whose key begins with `prefix`, in key order. */
  scan<T extends EntryValue>(prefix: string): Iterable<readonly [string, T]>;
}

/** One decoded input record. */
export type MachineInput = {
  [T in TopicName]: {
    readonly topic: T;
    readonly value: EventMap[T];
    readonly partition: number;
    readonly offset: number;
  };
}[TopicName];

/** One event to produce; its key, event_id, occurred_at and producer are stamped by the host. */
export type MachineOutput = { [T in TopicName]: { readonly topic: T; readonly value: EventBodyMap[T] } }[TopicName];

/** What a decision does: nothing happens until the host commits all of it in one transaction. */
export interface Effects {
  readonly outputs: MachineOutput[];
  /** Entries to write; null deletes. Later writes to a key win. */
  readonly entries: Map<string, { readonly kind: string; readonly value: EntryValue } | null>;
  /** Timers to set (milliseconds UTC) or clear (null); a timer fires once. */
  readonly timers: Map<string, number | null>;
  /** Records for the dead-letter topic of the processor, with a code and a message: the input itself, or an earlier event. */
  readonly rejections: Rejection[];
}

/** Why a record is dead-lettered. */
export interface Rejection {
  readonly code: string;
  readonly message: string;
  /** The event rejected; without it the input at hand. */
  readonly event?: { [T in TopicName]: { readonly topic: T; readonly value: EventMap[T] } }[TopicName];
}

/** A timer's extension by a heartbeat: kept in memory only, the state is not touched. */
export interface Renewal {
  readonly timer: string;
  /** New due time, milliseconds UTC. */
  readonly until: number;
}

/** A pure, keyed state machine over one partition. */
export interface StateMachine {
  readonly name: string;
  readonly inputs: readonly TopicName[];
  readonly stateTopic: 'state.group' | 'state.run';
  readonly journalTopic: 'journal.group' | 'journal.run';
  /** Version of the entries' format. */
  readonly stateVersion: number;
  decide(state: StateView, input: MachineInput, now: number): Effects;
  /** A timer set by an earlier decision is due. */
  fire(state: StateView, timer: string, now: number): Effects;
  /** `decide` threw on this input: close what it belongs to as failed (`PROCESSOR_BUG`). Must not throw. */
  abandon(state: StateView, input: MachineInput, error: Error, now: number): Effects;
  /** Heartbeat inputs: timers to extend in memory. Such topics are not given to `decide`. */
  renewals?(input: MachineInput, now: number): readonly Renewal[];
  /** Topics whose records go to `renewals` and are neither decided nor journalled. */
  readonly heartbeatInputs?: readonly TopicName[];
}

/** No effects; a fresh object to add to. */
export const noEffects = (): Effects => ({ outputs: [], entries: new Map(), timers: new Map(), rejections: [] });
