import type { GroupConfig } from '@espalier/contracts';
import { bandOf, mixesOf, wholeBand, type Band } from './band.ts';
import { finalFilter } from './final-filter.ts';
import { GroupConfigError } from './legality.ts';
import type { FilterReason, GroupVerdict, PoolMember, PoolView, Selection } from './pool.ts';
import { byDraw, bySubmission, splitPool, type SplitPool } from './ranking.ts';

/** Forgives the last bits of rho * N; far below any meaningful share. */
const BAND_SLACK = 1e-9;
/** Rewards further apart than this make a spread that passes the final filter for any practical group size. */
const SPREAD = 1e-3;

/**
 * Balanced Adaptive Rollout (Orchard, Algorithm 1 and section 3.3.3) over one group's pool.
 *
 * PER_COMPLETION launches the whole budget at once, judges every scored completion, accepts as soon as the band can be
 * met, and stops as soon as no outcome of the open rollouts could lead to an accepted group. STRIDE is the published
 * schedule: `stride` rollouts at a time, judged only when all of them have ended; selection there is bit-exact to the
 * published code (halves to even, smaller mix first, ties in order of submission).
 *
 * Pure and total over legal configurations (see `groupConfigProblems`); once `open` is 0 and the budget is launched the
 * verdict is ACCEPT or FILTER, never WAIT. Throws {@link GroupConfigError} for a mode this version does not know.
 */
export function decideGroup(view: PoolView): GroupVerdict {
  switch (view.config.mode) {
    case 'PER_COMPLETION':
      return decidePerCompletion(view);
    case 'STRIDE':
      return decideStride(view);
    case 'UNKNOWN':
      throw new GroupConfigError(['mode must be PER_COMPLETION or STRIDE']);
  }
}

function decidePerCompletion(view: PoolView): GroupVerdict {
  const { config } = view;
  if (view.launched === 0) return { kind: 'LAUNCH', count: config.budget };
  const split = splitPool(view, byDraw);
  // The published code pads a best-effort group with members that have no reward and then drops the group for it.
  const pool = {
    ...split,
    backfill: split.backfill.filter(({ reward, status }) => reward !== null && status !== 'CANCELLED'),
  };
  const band = bandOf(config, BAND_SLACK);
  const exact = firstPassing(config, pool, band);
  if (exact) return accept('EXACT', exact);
  const unlaunched = Math.max(0, config.budget - view.launched);
  const reason = hopeless(config, pool, band, view.open + unlaunched);
  if (reason) return { kind: 'FILTER', reason };
  if (unlaunched > 0) return { kind: 'LAUNCH', count: unlaunched };
  if (view.open > 0) return { kind: 'WAIT' };
  return settle(config, pool, (mixes) => firstPassing(config, pool, mixes));
}

function decideStride(view: PoolView): GroupVerdict {
  const { config } = view;
  if (view.open > 0) return { kind: 'WAIT' };
  if (view.launched === 0) return { kind: 'LAUNCH', count: Math.min(config.stride, config.budget) };
  const pool = splitPool(view, bySubmission);
  const exact = tryAssemble(config.size, pool, bandOf(config));
  if (exact) return filtered(config, 'EXACT', exact);
  if (view.launched < config.budget)
    return { kind: 'LAUNCH', count: Math.min(config.stride, config.budget - view.launched) };
  return settle(config, pool, (mixes) => tryAssemble(config.size, pool, mixes));
}

/** Nothing is open and the budget is spent: relaxed selection, else best effort, else the reason why not. */
function settle(config: GroupConfig, pool: SplitPool, select: (band: Band) => PoolMember[] | null): GroupVerdict {
  const { size } = config;
  if (!config.relaxed) return { kind: 'FILTER', reason: usable(pool) < size ? 'TOO_FEW' : 'INFEASIBLE' };
  const relaxed = select(wholeBand(size));
  if (relaxed) return filtered(config, 'RELAXED', relaxed);
  const best = [...pool.positives, ...pool.others, ...pool.backfill].slice(0, size);
  if (best.length < size) return { kind: 'FILTER', reason: 'TOO_FEW' };
  return filtered(config, 'BEST_EFFORT', best);
}

const usable = (pool: SplitPool): number => pool.positives.length + pool.others.length;

const accept = (selection: Selection, members: readonly PoolMember[]): GroupVerdict => ({
  kind: 'ACCEPT',
  selection,
  selected: members.map(({ trajectoryId }) => trajectoryId),
});

function filtered(config: GroupConfig, selection: Selection, members: readonly PoolMember[]): GroupVerdict {
  const reason = finalFilter(config, members);
  return reason ? { kind: 'FILTER', reason } : accept(selection, members);
}

const take = (size: number, pool: SplitPool, positives: number): PoolMember[] | null =>
  positives <= pool.positives.length && size - positives <= pool.others.length
    ? [...pool.positives.slice(0, positives), ...pool.others.slice(0, size - positives)]
    : null;

/** TryAssemble of Algorithm 1: the nearest mix that the pool can fill. */
function tryAssemble(size: number, pool: SplitPool, band: Band): PoolMember[] | null {
  if (usable(pool) < size) return null;
  for (const positives of mixesOf(band)) {
    const members = take(size, pool, positives);
    if (members) return members;
  }
  return null;
}

/**
 * TryAssemble that passes over mixes the final filter would drop: accepting such a mix early would throw the group away
 * although the open rollouts may still save it.
 */
function firstPassing(config: GroupConfig, pool: SplitPool, band: Band): PoolMember[] | null {
  for (const positives of mixesOf(band)) {
    const taken = take(config.size, pool, positives);
    const members = taken && spreadOut(config, taken, positives === 0 ? pool.others : pool.positives);
    if (members && finalFilter(config, members) === null) return members;
  }
  return null;
}

/**
 * Members of one kind alone may still differ in graded rewards: where those first in order do not, the last of them
 * gives way to the first of the rest that does.
 */
function spreadOut(config: GroupConfig, members: PoolMember[], rest: readonly PoolMember[]): PoolMember[] {
  if (finalFilter(config, members) !== 'ZERO_STD') return members;
  const reward = members[0]?.reward ?? 0;
  const other = rest.find((one) => one.reward !== null && Math.abs(one.reward - reward) > SPREAD);
  return other ? [...members.slice(0, -1), other] : members;
}

/**
 * Whether no outcome of the `remaining` rollouts can lead to an accepted group; the reason if so. Each of them may
 * still end positive, not positive, or without a reward.
 */
function hopeless(config: GroupConfig, pool: SplitPool, band: Band, remaining: number): FilterReason | null {
  if (remaining === 0) return null;
  const { size } = config;
  const fillable = (positives: number): boolean =>
    !(config.require_positive && positives === 0) &&
    Math.max(0, positives - pool.positives.length) + Math.max(0, size - positives - pool.others.length) <= remaining;
  // A single member has no spread: with require_std a group of one can never pass.
  const spreadPossible = !config.require_std || size > 1;
  const mixes = config.relaxed ? mixesOf(wholeBand(size)) : mixesOf(band);
  if (spreadPossible && mixes.some(fillable)) return null;
  // A best-effort group may still be filled up with members that have a reward but ran out of time.
  const filled = usable(pool) + pool.backfill.length + remaining;
  if (config.relaxed && spreadPossible && pool.backfill.length > 0 && filled >= size) return null;
  return usable(pool) + remaining < size ? 'TOO_FEW' : 'INFEASIBLE';
}
