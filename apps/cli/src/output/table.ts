/** A column of a table: its heading and what stands in it. */
export type Column<R> = readonly [heading: string, cell: (row: R) => string | number | null | undefined];

/** Rows as aligned lines below a heading; columns of numbers are aligned to the right. */
export function table<R>(rows: readonly R[], columns: readonly Column<R>[]): string[] {
  const cells = rows.map((row) => columns.map(([, cell]) => cell(row)));
  const texts = cells.map((line) => line.map((cell) => (cell === null || cell === undefined ? '-' : String(cell))));
  const widths = columns.map(([heading], at) =>
    Math.max(heading.length, ...texts.map((line) => line[at]?.length ?? 0)),
  );
  const numeric = columns.map((_, at) => cells.length > 0 && cells.every((line) => typeof line[at] !== 'string'));
  const format = (line: readonly string[]): string =>
    line
      .map((text, at) => (numeric[at] === true ? text.padStart(widths[at] ?? 0) : text.padEnd(widths[at] ?? 0)))
      .join('  ')
      .trimEnd();
  return [format(columns.map(([heading]) => heading)), ...texts.map(format)];
}
