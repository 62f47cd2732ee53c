/** A prediction whose outcome is known. */
export interface Judged {
  readonly value: number;
  readonly passed: boolean;
}

/** A ranked group whose outcomes are known, best first. */
export type JudgedGroup = readonly Judged[];

/**
 * Area under the ROC curve: how often a passed one is valued above a failed one, ties counting half (the Mann-Whitney
 * statistic). null without both kinds.
 */
export function aucOf(judged: readonly Judged[]): number | null {
  const sorted = [...judged].sort((a, b) => a.value - b.value);
  const positives = sorted.filter(({ passed }) => passed).length;
  const negatives = sorted.length - positives;
  if (positives === 0 || negatives === 0) return null;
  let rankSum = 0;
  for (let from = 0; from < sorted.length;) {
    let to = from;
    while (to < sorted.length && sorted[to]?.value === sorted[from]?.value) to++;
    const rank = (from + 1 + to) / 2;
    rankSum += rank * sorted.slice(from, to).filter(({ passed }) => passed).length;
    from = to;
  }
  return (rankSum - (positives * (positives + 1)) / 2) / (positives * negatives);
}

/** Expected calibration error (Guo et al., arXiv 1706.04599, equation 3) over bins of equal width. null when empty. */
export function eceOf(judged: readonly Judged[], bins = 10): number | null {
  if (judged.length === 0) return null;
  let error = 0;
  for (let bin = 0; bin < bins; bin++) {
    const part = judged.filter(({ value }) => Math.min(bins - 1, Math.floor(value * bins)) === bin);
    const passed = part.filter((one) => one.passed).length;
    error += Math.abs(passed - part.reduce((sum, { value }) => sum + value, 0));
  }
  return error / judged.length;
}

/** Best of N against its bounds. */
export interface BestOfN {
  readonly groups: number;
  /** Share of groups whose first passed. */
  readonly best_at_1: number | null;
  /** Share of groups where one of the first two passed. */
  readonly best_at_2: number | null;
  /** What a random choice would give. */
  readonly random: number | null;
  /** What a perfect choice would give. */
  readonly oracle: number | null;
}

/** Over all groups, or those where the choice matters (some passed, some did not). */
export function bestOfN(groups: readonly JudgedGroup[]): BestOfN {
  const known = groups.filter((group) => group.length > 0);
  const mean = (of: (group: JudgedGroup) => number): number | null =>
    known.length === 0 ? null : known.reduce((sum, group) => sum + of(group), 0) / known.length;
  const any = (group: JudgedGroup): number => (group.some(({ passed }) => passed) ? 1 : 0);
  return {
    groups: known.length,
    best_at_1: mean((group) => any(group.slice(0, 1))),
    best_at_2: mean((group) => any(group.slice(0, 2))),
    random: mean((group) => group.filter(({ passed }) => passed).length / group.length),
    oracle: mean(any),
  };
}

/** Whether a choice among a group's members changes anything. */
export const isMixed = (group: JudgedGroup): boolean =>
  group.some(({ passed }) => passed) && group.some(({ passed }) => !passed);
