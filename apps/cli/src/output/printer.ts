import { table, type Column } from './table.ts';

/** Where a command writes. Results go to `stdout`, notices to `stderr`; with `json` results are JSON alone. */
export interface Printer {
  readonly json: boolean;
  /** A line for people; left out with `--json`. */
  line(text?: string): void;
  /** A notice on stderr. */
  notice(text: string): void;
  /** A value: one JSON line with `--json`, else nothing. */
  value(value: unknown): void;
  /** Rows: one JSON line each with `--json`, else a table. */
  rows<R extends object>(rows: readonly R[], columns: readonly Column<R>[], empty: string): void;
}

/** Something to write to. */
export interface Sink {
  write(text: string): unknown;
}

/** Bigints and typed arrays as JSON has them. */
export const toJson = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner === 'bigint') return Number(inner);
    if (inner instanceof Int32Array || inner instanceof Float32Array) return [...inner];
    return inner;
  });

export function printerOn(out: Sink, err: Sink, json: boolean): Printer {
  return {
    json,
    line(text = '') {
      if (!json) out.write(`${text}\n`);
    },
    notice(text) {
      err.write(`${text}\n`);
    },
    value(value) {
      if (json) out.write(`${toJson(value)}\n`);
    },
    rows(rows, columns, empty) {
      if (json) for (const row of rows) out.write(`${toJson(row)}\n`);
      else out.write(rows.length === 0 ? `${empty}\n` : `${table(rows, columns).join('\n')}\n`);
    },
  };
}
