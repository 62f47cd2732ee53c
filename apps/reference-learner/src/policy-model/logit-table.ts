/** Learned logits: one row per place where answers part, one entry per token that may follow there. */
export class LogitTable {
  readonly #rows: Map<string, Map<number, number>>;

  constructor(rows: Map<string, Map<number, number>> = new Map()) {
    this.#rows = rows;
  }

  /** Number of learned entries. */
  get size(): number {
    let entries = 0;
    for (const row of this.#rows.values()) entries += row.size;
    return entries;
  }

  /** A token's learned logit at a place; 0 before any learning. */
  at(place: string, token: number): number {
    return this.#rows.get(place)?.get(token) ?? 0;
  }

  add(place: string, token: number, change: number): void {
    const row = this.#rows.get(place) ?? new Map<number, number>();
    this.#rows.set(place, row);
    row.set(token, (row.get(token) ?? 0) + change);
  }

  copy(): LogitTable {
    return new LogitTable(new Map([...this.#rows].map(([place, row]) => [place, new Map(row)])));
  }

  toJSON(): Record<string, Record<string, number>> {
    return Object.fromEntries([...this.#rows].map(([place, row]) => [place, Object.fromEntries(row)]));
  }

  static fromJSON(rows: Record<string, Record<string, number>>): LogitTable {
    return new LogitTable(
      new Map(
        Object.entries(rows).map(([place, row]) => [
          place,
          new Map(Object.entries(row).map(([token, logit]) => [Number(token), logit])),
        ]),
      ),
    );
  }
}
