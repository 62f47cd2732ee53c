const FILE = /(?:\/[\w.-]+)+\.(?:py|sh|bash|js|mjs|cjs|ts|go|java|c|cc|cpp|rs)\b/;
const COUNT = /\b(two|three|four|2|3|4)\s+(?:[a-z-]+\s+){0,2}(?:bugs?|problems?|mistakes?|errors?|faults?|defects?)\b/i;
const numbers = new Map([
  ['two', 2],
  ['three', 3],
  ['four', 4],
]);

/** What the policy takes from an instruction. */
export interface Assignment {
  /** The first program file named; null when there is none. */
  readonly path: string | null;
  /** How many edits to make: the number of problems that the instruction tells, else one. */
  readonly edits: number;
}

/** Reads an instruction. */
export function assignmentOf(instruction: string): Assignment {
  const count = COUNT.exec(instruction)?.[1]?.toLowerCase();
  return {
    path: FILE.exec(instruction)?.[0] ?? null,
    edits: count === undefined ? 1 : (numbers.get(count) ?? Number(count)),
  };
}
