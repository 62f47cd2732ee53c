/**
 * Offsets under way in one partition. The next offset to commit is the lowest one not done: what finished out of order
 * waits for what began before it.
 */
export class Watermark {
  #next: number;
  #open: { readonly offset: number; done: boolean }[] = [];

  constructor(start: number) {
    this.#next = start;
  }

  /** Begins an offset; offsets begin in order. Returns what marks it done. */
  begin(offset: number): () => void {
    const entry = { offset, done: false };
    this.#open.push(entry);
    return () => {
      entry.done = true;
    };
  }

  /** Everything below `offset` has begun or was nothing to do (transaction markers, compacted records). */
  seenTo(offset: number): void {
    this.#next = Math.max(this.#next, offset);
  }

  /** The next offset to consume, were this process to end now. */
  get committable(): number {
    for (let first = this.#open[0]; first?.done === true; first = this.#open[0]) {
      this.#next = Math.max(this.#next, first.offset + 1);
      this.#open.shift();
    }
    return this.#open[0]?.offset ?? this.#next;
  }

  get underWay(): number {
    return this.#open.filter(({ done }) => !done).length;
  }
}
