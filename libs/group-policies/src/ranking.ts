import type { PoolMember, PoolView } from './pool.ts';

/** A pool split as Balanced Adaptive Rollout splits it; each part in the order of choice. */
export interface SplitPool {
  /** Usable, reward > 0. */
  readonly positives: readonly PoolMember[];
  /** Usable, reward <= 0. */
  readonly others: readonly PoolMember[];
  /** Not usable for a balanced selection: no reward, cancelled, or ended by the wall clock. */
  readonly backfill: readonly PoolMember[];
}

/** Order among members of equal rank. */
export type TieOrder = (a: PoolMember, b: PoolMember) => number;

/** Ties in order of submission, as the published code keeps them. */
export const bySubmission: TieOrder = (a, b) => a.rolloutIndex - b.rolloutIndex;

/** 32-bit FNV-1a with a final mix, so that ids which differ in one digit land far apart. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * Ties in a fixed order that knows nothing of the rollout: a hash of the trajectory id. Completion order would favour
 * short rollouts; submission order would favour whichever harness or sampler a run assigns to low indices.
 */
export const byDraw: TieOrder = (a, b) =>
  hashOf(a.trajectoryId) - hashOf(b.trajectoryId) || a.rolloutIndex - b.rolloutIndex;

/** Rank of choice: completed, truncated, truncated by the wall clock, anything else. Length is not in it. */
function rankOf(member: PoolMember): number {
  switch (member.status) {
    case 'COMPLETED':
      return 0;
    case 'TRUNCATED':
      return member.timeExceeded === true ? 2 : 1;
    case 'FAILED':
    case 'CANCELLED':
    case 'UNKNOWN':
      return 3;
  }
}

const isBackfill = (member: PoolMember): boolean =>
  member.reward === null || member.status === 'CANCELLED' || member.timeExceeded === true;

/** Splits the pool and puts each part in the order of choice. */
export function splitPool(view: Pick<PoolView, 'scored' | 'unscorable'>, ties: TieOrder): SplitPool {
  const ordered = [...view.scored, ...view.unscorable].sort((a, b) => rankOf(a) - rankOf(b) || ties(a, b));
  const usable = ordered.filter((member) => !isBackfill(member));
  return {
    positives: usable.filter((member) => (member.reward ?? 0) > 0),
    others: usable.filter((member) => (member.reward ?? 0) <= 0),
    backfill: ordered.filter(isBackfill),
  };
}
