import type { GroupConfig } from '@espalier/contracts';

/** Rounds to the nearest integer, halves to the even one (as Python's `round`, which the published code uses). */
export function roundHalfEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest < 0.5) return below;
  if (rest > 0.5) return below + 1;
  return below % 2 === 0 ? below : below + 1;
}

/** Numbers of positives that a selection of `size` may hold, and the one preferred. */
export interface Band {
  readonly min: number;
  readonly max: number;
  readonly preferred: number;
}

/**
 * The balanced band in members: `n* = round(rho* N)`, `n_min = ceil(rho_min N)`, `n_max = floor(rho_max N)`, with rho*
 * the midpoint. `slack` forgives the last bit of a product such as 0.55 * 20 = 11.000000000000002; the published
 * schedule keeps 0 to stay bit-exact.
 */
export function bandOf(config: Pick<GroupConfig, 'size' | 'rho_min' | 'rho_max'>, slack = 0): Band {
  return {
    min: Math.ceil(config.rho_min * config.size - slack),
    max: Math.floor(config.rho_max * config.size + slack),
    preferred: roundHalfEven(((config.rho_min + config.rho_max) / 2) * config.size),
  };
}

/** Any mix at all: band [0, 1]. */
export const wholeBand = (size: number): Band => bandOf({ size, rho_min: 0, rho_max: 1 });

/** The mixes of a band, nearest to the preferred one first; of two at equal distance the smaller first. */
export function mixesOf(band: Band): number[] {
  const mixes: number[] = [];
  for (let positives = band.min; positives <= band.max; positives++) mixes.push(positives);
  return mixes.sort((a, b) => Math.abs(a - band.preferred) - Math.abs(b - band.preferred) || a - b);
}
