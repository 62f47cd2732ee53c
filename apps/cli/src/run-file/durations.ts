const UNITS = { ms: 1, s: 1_000, m: 60_000, min: 60_000, h: 3_600_000 } as const;
const DURATION = /^(\d+(?:\.\d+)?)\s*(ms|s|min|m|h)$/;

/** Milliseconds of a duration like `90s`, `5m`, `1.5h` or `250ms`; null when it is none. */
export function milliseconds(text: string): number | null {
  const match = DURATION.exec(text.trim());
  if (!match) return null;
  const [, amount = '0', unit = 'ms'] = match;
  return Math.round(Number(amount) * UNITS[unit as keyof typeof UNITS]);
}
