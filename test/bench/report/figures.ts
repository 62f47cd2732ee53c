/** One measured figure, beside the floor it is read against. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The floor, in the same unit, measured in the same run. */
  readonly floor?: number;
  /** What the floor is. */
  readonly floorIs?: string;
  /** How many measurements stand behind it. */
  readonly count?: number;
}

/** What a benchmark is started with. */
export interface BenchOptions {
  /** Told of progress, a line at a time. */
  readonly say: (line: string) => void;
  /** Added to the environment of every service. */
  readonly serviceEnv: Readonly<Record<string, string>>;
}

/** What one benchmark found. */
export interface BenchResult {
  readonly bench: string;
  readonly figures: readonly Figure[];
  /** What a reader has to know to read them: sizes, what was left out. */
  readonly notes: readonly string[];
  /** Mean busy cores of the machine while it ran, everything else that ran included. */
  readonly busyCores: number;
  readonly seconds: number;
}

const rounded = (value: number): string => {
  if (!Number.isFinite(value)) return '-';
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
};

/** How many times the floor a figure is; undefined without a floor. */
export const ratioOf = ({ value, floor }: Figure): number | undefined =>
  floor === undefined || floor === 0 ? undefined : value / floor;

/** The figures as a table for a terminal. */
export function tableOf(result: BenchResult): string {
  const header = ['figure', 'value', 'unit', 'floor', 'ratio', 'n'];
  const rows = result.figures.map((figure) => [
    figure.name,
    rounded(figure.value),
    figure.unit,
    figure.floor === undefined ? '' : rounded(figure.floor),
    ratioOf(figure) === undefined ? '' : `${rounded(ratioOf(figure) ?? Number.NaN)}x`,
    figure.count === undefined ? '' : String(figure.count),
  ]);
  const widths = header.map((_, column) => Math.max(...[header, ...rows].map((row) => (row[column] ?? '').length)));
  const lines = [header, ...rows].map((row) =>
    row
      .map((cell, column) =>
        column === 0 || column === 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
  const floors = [...new Set(result.figures.flatMap(({ floorIs }) => floorIs ?? []))];
  return [
    `${result.bench} (${rounded(result.seconds)} s, ${rounded(result.busyCores)} cores busy)`,
    ...lines,
    ...floors.map((floor) => `floor: ${floor}`),
    ...result.notes,
  ].join('\n');
}
