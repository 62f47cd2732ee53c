import { sampleIdFor, type TrainSampleDraft } from '@espalier/contracts';
import { joinVersions, maskRuns, sliceVersions, type Span } from './runs.ts';
import { sequenceOf, type TokenCall } from './token-tree.ts';

/** A call on a path, with the sampled tokens of it that the path holds. */
interface PathCall {
  readonly call: TokenCall;
  readonly kept: number;
}

function pathOf(leaf: TokenCall): PathCall[] {
  const path: PathCall[] = [];
  let kept = leaf.output.length;
  let at: TokenCall | null = leaf;
  while (at) {
    path.push({ call: at, kept });
    kept = at.kept;
    at = at.before;
  }
  return path.reverse();
}

/**
 * Root-to-leaf samples over the calls' tokens. A call whose answer no other call continues ends a sample. Every sampled
 * token is masked in within exactly one sample: the first, in the order of the calls that end them, that holds it. What no
 * sample holds was realigned; it is counted in `realigned_tokens` of the first sample that passes through its call.
 */
export function samplesOf(trajectoryId: string, calls: readonly TokenCall[]): TrainSampleDraft[] {
  const continued = new Set(calls.flatMap(({ before }) => (before ? [before] : [])));
  const leaves = calls.filter((call) => !continued.has(call)).sort((left, right) => left.callNo - right.callNo);
  const paths = leaves.map((leaf) => ({ leaf, path: pathOf(leaf) }));

  // A realigned path may hold fewer of a call's tokens than a later one does, so what is lost is known only at the end.
  const held = new Map<TokenCall, number>();
  for (const { path } of paths) {
    for (const { call, kept } of path) held.set(call, Math.max(held.get(call) ?? 0, kept));
  }

  const owned = new Map<TokenCall, number>();
  const samples: TrainSampleDraft[] = [];
  for (const { leaf, path } of paths) {
    const tokens = sequenceOf(leaf);
    const logprobs = new Float32Array(tokens.length);
    const spans: Span[] = [];
    const versions = [];
    let realigned = 0;
    for (const { call, kept } of path) {
      const known = owned.get(call);
      const from = known ?? 0;
      const at = call.promptLength;
      if (known === undefined) realigned += call.output.length - (held.get(call) ?? 0);
      logprobs.set(call.logprobs.subarray(0, kept), at);
      owned.set(call, Math.max(from, kept));
      if (kept <= from) continue;
      spans.push({ from: at + from, to: at + kept });
      versions.push(...sliceVersions(call.versions, from, kept));
    }
    if (spans.length === 0 && realigned === 0) continue;
    samples.push({
      sample_id: sampleIdFor(trajectoryId, samples.length),
      leaf_node: leaf.answerNode,
      token_ids: tokens,
      logprobs,
      mask_runs: maskRuns(spans, tokens.length),
      version_runs: joinVersions(versions),
      realigned_tokens: realigned,
    });
  }
  return samples;
}
