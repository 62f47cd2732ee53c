import { decodeEvent, encodeEvent } from '@espalier/avro';
import type {
  Effects,
  EntryValue,
  EventMap,
  MachineInput,
  Rejection,
  StateMachine,
  StateView,
  TopicName,
} from '@espalier/contracts';

/** One event as a topic would hold it: encoded and decoded once, so that it fits its schema. */
export type LoggedEvent = { [T in TopicName]: { readonly topic: T; readonly value: EventMap[T] } }[TopicName];

/** Encodes and decodes an event, with envelope fields filled in. */
export function asLogged<T extends TopicName>(topic: T, value: object, now: number): EventMap[T] {
  const stamped = { event_id: 'e', occurred_at: now, producer: 'test', ...value };
  return structuredCopy(decodeEvent(topic, encodeEvent(topic, stamped)));
}

/** Decoded records are instances of generated classes; plain objects compare and serialise as expected. */
function structuredCopy<T>(value: T): T {
  if (value === null || typeof value !== 'object' || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => structuredCopy(item)) as T;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, structuredCopy(inner)])) as T;
}

/** Runs one partition of a state machine in memory: state, timers, dead letters, and a virtual clock given by the caller. */
export class MachineDriver {
  readonly machine: StateMachine;
  readonly state = new Map<string, EntryValue>();
  readonly timers = new Map<string, number>();
  readonly rejections: Rejection[] = [];
  private offset = 0;

  constructor(machine: StateMachine) {
    this.machine = machine;
  }

  /** Applies one event; returns what the machine produced. A throwing decision is abandoned, as the host does. */
  apply(event: LoggedEvent, now: number): LoggedEvent[] {
    const input = { ...event, partition: 0, offset: this.offset++ } as MachineInput;
    if (this.machine.heartbeatInputs?.includes(event.topic)) {
      for (const renewal of this.machine.renewals?.(input, now) ?? [])
        if (this.timers.has(renewal.timer)) this.timers.set(renewal.timer, renewal.until);
      return [];
    }
    try {
      return this.commit(this.machine.decide(this.view(), input, now), now);
    } catch (error) {
      return this.commit(this.machine.abandon(this.view(), input, error as Error, now), now);
    }
  }

  /** Fires every timer due at `now`, earliest first. */
  fireDue(now: number): LoggedEvent[] {
    const outputs: LoggedEvent[] = [];
    for (;;) {
      const [due] = [...this.timers].filter(([, at]) => at <= now).sort((a, b) => a[1] - b[1]);
      if (!due) return outputs;
      this.timers.delete(due[0]);
      outputs.push(...this.commit(this.machine.fire(this.view(), due[0], now), now));
    }
  }

  private view(): StateView {
    return {
      get: <T extends EntryValue>(key: string): T | undefined => this.state.get(key) as T | undefined,
      scan: <T extends EntryValue>(prefix: string): Iterable<readonly [string, T]> =>
        [...this.state]
          .filter(([key]) => key.startsWith(prefix))
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, value]) => [key, value as T]),
    };
  }

  private commit(effects: Effects, now: number): LoggedEvent[] {
    for (const [key, entry] of effects.entries) {
      if (entry === null) this.state.delete(key);
      // A copy through JSON, as the changelog makes one.
      else this.state.set(key, JSON.parse(JSON.stringify(entry.value)) as EntryValue);
    }
    for (const [timer, at] of effects.timers) {
      if (at === null) this.timers.delete(timer);
      else this.timers.set(timer, at);
    }
    this.rejections.push(...effects.rejections);
    return effects.outputs.map(
      (output) => ({ topic: output.topic, value: asLogged(output.topic, output.value, now) }) as LoggedEvent,
    );
  }
}
