import type { VersionRun } from '@espalier/contracts';

/** Policy versions of the tokens `from` (inclusive) to `to` (exclusive). */
export function sliceVersions(runs: readonly VersionRun[], from: number, to: number): VersionRun[] {
  const sliced: VersionRun[] = [];
  let start = 0;
  for (const { version, length } of runs) {
    const first = Math.max(from, start);
    const last = Math.min(to, start + length);
    if (last > first) sliced.push({ version, length: last - first });
    start += length;
  }
  return sliced;
}

/** Joins neighbouring runs of one version. */
export function joinVersions(runs: readonly VersionRun[]): VersionRun[] {
  const joined: VersionRun[] = [];
  for (const { version, length } of runs) {
    const last = joined.at(-1);
    if (length === 0) continue;
    if (last?.version === version) last.length += length;
    else joined.push({ version, length });
  }
  return joined;
}

/** Tokens that the runs cover. */
export const versionedTokens = (runs: readonly VersionRun[]): number =>
  runs.reduce((sum, { length }) => sum + length, 0);

/** A half-open range of positions. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Run lengths of a mask that is 1 within the spans (ascending, apart), alternating, beginning with a run of 0. */
export function maskRuns(spans: readonly Span[], length: number): number[] {
  const runs: number[] = [];
  let at = 0;
  for (const { from, to } of spans) {
    if (to <= from) continue;
    if (runs.length > 0 && from === at) runs[runs.length - 1] = (runs.at(-1) ?? 0) + (to - from);
    else runs.push(from - at, to - from);
    at = to;
  }
  if (at < length) runs.push(length - at);
  return runs;
}

/** The mask as one byte a token. Inverse of {@link maskRuns}. */
export function expandMask(runs: readonly number[]): Uint8Array {
  const mask = new Uint8Array(runs.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const [index, length] of runs.entries()) {
    if (index % 2 === 1) mask.fill(1, at, at + length);
    at += length;
  }
  return mask;
}
