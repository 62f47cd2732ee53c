const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

/** A share in [0, 1] as a bar. */
const barOf = (share: number): string => BARS[Math.min(BARS.length - 1, Math.floor(share * BARS.length))] ?? BARS[0];

/**
 * The share of `true` over time as a line of at most `width` bars: equal numbers of outcomes a bar, but never fewer than
 * `least`, since a bar of two outcomes says nothing.
 */
export function sparkline(outcomes: readonly boolean[], width: number, least = 8): string {
  if (outcomes.length === 0) return '';
  const bars = Math.max(1, Math.min(width, Math.floor(outcomes.length / least)));
  return Array.from({ length: bars }, (_, bar) => {
    const from = Math.floor((bar * outcomes.length) / bars);
    const slice = outcomes.slice(from, Math.floor(((bar + 1) * outcomes.length) / bars));
    return barOf(slice.filter(Boolean).length / slice.length);
  }).join('');
}
