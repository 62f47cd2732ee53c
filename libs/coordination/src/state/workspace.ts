import {
  noEffects,
  type Effects,
  type EntryValue,
  type EventBodyMap,
  type MachineOutput,
  type StateView,
  type TopicName,
} from '@espalier/contracts';

/**
 * What one decision reads and does: the partition's state below, this decision's own effects above, so that later steps of
 * the same decision see earlier ones.
 */
export class Workspace {
  readonly effects: Effects = noEffects();
  readonly now: number;
  private readonly state: StateView;

  constructor(state: StateView, now: number) {
    this.state = state;
    this.now = now;
  }

  get<T extends EntryValue>(key: string): T | undefined {
    const own = this.effects.entries.get(key);
    if (own === null) return undefined;
    if (own) return own.value as T;
    return this.state.get<T>(key);
  }

  /** Entries below `prefix` in key order, own effects included. */
  *scan<T extends EntryValue>(prefix: string): Iterable<readonly [string, T]> {
    const own = [...this.effects.entries].filter(([key]) => key.startsWith(prefix));
    if (own.length === 0) {
      yield* this.state.scan<T>(prefix);
      return;
    }
    const merged = new Map<string, T>(this.state.scan<T>(prefix));
    for (const [key, entry] of own) {
      if (entry === null) merged.delete(key);
      else merged.set(key, entry.value as T);
    }
    yield* [...merged].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  put(key: string, kind: string, value: EntryValue): void {
    this.effects.entries.set(key, { kind, value });
  }

  remove(key: string): void {
    this.effects.entries.set(key, null);
  }

  emit<T extends TopicName>(topic: T, value: EventBodyMap[T]): void {
    this.effects.outputs.push({ topic, value } as unknown as MachineOutput);
  }

  setTimer(timer: string, at: number): void {
    this.effects.timers.set(timer, at);
  }

  clearTimer(timer: string): void {
    this.effects.timers.set(timer, null);
  }

  reject(code: string, message: string): void {
    this.effects.rejections.push({ code, message });
  }
}
