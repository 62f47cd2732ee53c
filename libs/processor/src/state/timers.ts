/** Timers of one partition: when each was set to fire, and when it is due after heartbeats extended it. */
export class Timers {
  readonly #set = new Map<string, { at: number; due: number }>();
  /** Heap of (due, key); entries that are no longer true are dropped when met. */
  readonly #heap: { readonly due: number; readonly key: string }[] = [];

  get size(): number {
    return this.#set.size;
  }

  /** Sets or clears a timer. */
  set(key: string, at: number | null): void {
    if (at === null) {
      this.#set.delete(key);
      return;
    }
    this.#set.set(key, { at, due: at });
    this.#push({ due: at, key });
  }

  /** Extends a timer that is set; the persisted time stays. A timer is never brought forward. */
  renew(key: string, until: number): void {
    const timer = this.#set.get(key);
    if (timer === undefined || until <= timer.due) return;
    timer.due = until;
    this.#push({ due: until, key });
  }

  /** When the next timer is due; undefined when there is none. */
  nextDue(): number | undefined {
    return this.#top()?.due;
  }

  /** Keys of up to `limit` timers due at `now`, in the order (due, key). They stay set. */
  due(now: number, limit: number): string[] {
    const keys: string[] = [];
    const taken: { readonly due: number; readonly key: string }[] = [];
    for (let top = this.#top(); top !== undefined && top.due <= now && keys.length < limit; top = this.#top()) {
      this.#pop();
      taken.push(top);
      if (!keys.includes(top.key)) keys.push(top.key);
    }
    for (const entry of taken) this.#push(entry);
    return keys;
  }

  /** All timers with the times they were set to, for tests and inspection. */
  *entries(): Iterable<readonly [string, { readonly at: number; readonly due: number }]> {
    yield* this.#set;
  }

  #top(): { readonly due: number; readonly key: string } | undefined {
    for (let top = this.#heap[0]; top !== undefined; top = this.#heap[0]) {
      if (this.#set.get(top.key)?.due === top.due) return top;
      this.#pop();
    }
    return undefined;
  }

  #before(a: number, b: number): boolean {
    const [left, right] = [this.#heap[a], this.#heap[b]];
    if (left === undefined || right === undefined) return false;
    return left.due < right.due || (left.due === right.due && left.key < right.key);
  }

  #swap(a: number, b: number): void {
    const [left, right] = [this.#heap[a], this.#heap[b]];
    if (left === undefined || right === undefined) return;
    this.#heap[a] = right;
    this.#heap[b] = left;
  }

  #push(entry: { readonly due: number; readonly key: string }): void {
    this.#heap.push(entry);
    let at = this.#heap.length - 1;
    for (let parent = (at - 1) >> 1; at > 0 && this.#before(at, parent); parent = (at - 1) >> 1) {
      this.#swap(at, parent);
      at = parent;
    }
  }

  #pop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    for (let at = 0; ;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < this.#heap.length && this.#before(child, least)) least = child;
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }
}
