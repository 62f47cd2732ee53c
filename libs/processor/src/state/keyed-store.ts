import type { EntryValue, StateView } from '@espalier/contracts';

/** An entry as it is kept: its value is what JSON gives back, so that a restored state equals the one in memory. */
export interface StoredEntry {
  readonly kind: string;
  readonly value: EntryValue;
}

/** Entries of one partition in key order. */
export class KeyedStore {
  readonly #entries = new Map<string, StoredEntry>();
  /** Keys in order; rebuilt when many were written at once. */
  #keys: string[] = [];
  #stale = false;

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): StoredEntry | undefined {
    return this.#entries.get(key);
  }

  /** Writes or deletes while restoring; the order is made when first asked for. */
  load(key: string, entry: StoredEntry | null): void {
    if (entry === null) this.#entries.delete(key);
    else this.#entries.set(key, entry);
    this.#stale = true;
  }

  /** Writes or deletes one entry. */
  set(key: string, entry: StoredEntry | null): void {
    this.#order();
    const known = this.#entries.has(key);
    if (entry === null) {
      if (!known) return;
      this.#entries.delete(key);
      this.#keys.splice(this.#lowerBound(key), 1);
      return;
    }
    this.#entries.set(key, entry);
    if (!known) this.#keys.splice(this.#lowerBound(key), 0, key);
  }

  /** Entries whose key begins with `prefix`, in key order. */
  *scan(prefix: string): Iterable<readonly [string, StoredEntry]> {
    this.#order();
    for (let at = this.#lowerBound(prefix); at < this.#keys.length; at += 1) {
      const key = this.#keys[at];
      if (key === undefined || !key.startsWith(prefix)) return;
      const entry = this.#entries.get(key);
      if (entry !== undefined) yield [key, entry];
    }
  }

  #order(): void {
    if (!this.#stale) return;
    this.#keys = [...this.#entries.keys()].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    this.#stale = false;
  }

  #lowerBound(key: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#keys[middle] ?? '') < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Changes on top of a store, visible through it, and dropped or taken over as one. */
export class Overlay implements StateView {
  readonly #base: Pick<KeyedStore, 'get' | 'scan'>;
  readonly #changes = new Map<string, StoredEntry | null>();

  constructor(base: Pick<KeyedStore, 'get' | 'scan'> | Overlay) {
    this.#base = base instanceof Overlay ? base.asStore() : base;
  }

  get<T extends EntryValue>(key: string): T | undefined {
    return this.entry(key)?.value as T | undefined;
  }

  /** The entry with its kind. */
  entry(key: string): StoredEntry | undefined {
    const changed = this.#changes.get(key);
    return changed === undefined ? this.#base.get(key) : (changed ?? undefined);
  }

  *scan<T extends EntryValue>(prefix: string): Iterable<readonly [string, T]> {
    for (const [key, entry] of this.#merged(prefix)) yield [key, entry.value as T];
  }

  write(key: string, entry: StoredEntry | null): void {
    this.#changes.set(key, entry);
  }

  /** The changes, in key order. */
  delta(): [string, StoredEntry | null][] {
    return [...this.#changes].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** Takes the changes of an overlay on top of this one. */
  absorb(other: Overlay): void {
    for (const [key, entry] of other.#changes) this.#changes.set(key, entry);
  }

  private asStore(): Pick<KeyedStore, 'get' | 'scan'> {
    return { get: (key) => this.entry(key), scan: (prefix) => this.#merged(prefix) };
  }

  *#merged(prefix: string): Iterable<readonly [string, StoredEntry]> {
    // A copy: the caller may write while it scans.
    const mine = [...this.#changes].filter(([key]) => key.startsWith(prefix)).sort(([a], [b]) => (a < b ? -1 : 1));
    let at = 0;
    const below = [...this.#base.scan(prefix)];
    for (const [key, entry] of below) {
      for (; at < mine.length; at += 1) {
        const next = mine[at];
        if (next === undefined || next[0] >= key) break;
        if (next[1] !== null) yield [next[0], next[1]];
      }
      const same = mine[at];
      if (same !== undefined && same[0] === key) {
        at += 1;
        if (same[1] !== null) yield [key, same[1]];
      } else yield [key, entry];
    }
    for (; at < mine.length; at += 1) {
      const next = mine[at];
      if (next !== undefined && next[1] !== null) yield [next[0], next[1]];
    }
  }
}
