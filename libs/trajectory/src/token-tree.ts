import type { VersionRun } from '@espalier/contracts';

/**
 * How a call's prompt continues the tokens of the call before it:
 * `clean`: it extends prompt and answer; `realign`: it differs only in the last tokens of the answer, which are masked
 * out; `fork`: it differs more, so the earlier call ends a sample of its own; `root`: no call comes before it.
 */
export type Drift = 'root' | 'clean' | 'realign' | 'fork';

/** When a short difference is masked out instead of forking. */
export interface DriftOptions {
  /**
   * Most sampled tokens of the last answer that may be masked out. Longer differences, and those that would cost more
   * than half of the answer, fork.
   */
  readonly realignLimit: number;
}

export const DEFAULT_DRIFT: DriftOptions = { realignLimit: 32 };

/** Tokens of one answered call. */
export interface TokenCall {
  readonly callNo: number;
  /** Node of its answer in the message tree. */
  readonly answerNode: number;
  readonly drift: Drift;
  /** Call that its tokens continue: set for `clean` and `realign`. */
  readonly before: TokenCall | null;
  /** Sampled tokens of `before` that this call's prompt keeps; the rest was realigned. */
  readonly kept: number;
  /** Prompt tokens after `before`'s prompt and kept answer; the whole prompt without `before`. */
  readonly suffix: Int32Array;
  readonly promptLength: number;
  readonly output: Int32Array;
  readonly logprobs: Float32Array;
  readonly versions: readonly VersionRun[];
}

/** Writes the call's prompt, then its answer, into one sequence. */
export function sequenceOf(call: TokenCall): Int32Array {
  const tokens = new Int32Array(call.promptLength + call.output.length);
  tokens.set(call.output, call.promptLength);
  let at: TokenCall | null = call;
  while (at) {
    const { before, kept, suffix }: TokenCall = at;
    tokens.set(suffix, at.promptLength - suffix.length);
    if (before) tokens.set(before.output.subarray(0, kept), before.promptLength);
    at = before;
  }
  return tokens;
}

function commonPrefix(left: Int32Array, right: Int32Array): number {
  const limit = Math.min(left.length, right.length);
  let length = 0;
  while (length < limit && left[length] === right[length]) length += 1;
  return length;
}

/** How a prompt continues a call, and how many of that call's sampled tokens it keeps. */
export interface Continuation {
  readonly drift: Drift;
  readonly kept: number;
}

/** Classifies how `prompt` continues `before`. */
export function continuationOf(
  before: TokenCall | null,
  prompt: Int32Array,
  { realignLimit }: DriftOptions = DEFAULT_DRIFT,
): Continuation {
  if (!before) return { drift: 'root', kept: 0 };
  const sequence = sequenceOf(before);
  const common = commonPrefix(sequence, prompt);
  if (common === sequence.length) return { drift: 'clean', kept: before.output.length };
  const lost = sequence.length - common;
  const short = lost <= realignLimit && lost * 2 <= before.output.length;
  if (common >= before.promptLength && short) return { drift: 'realign', kept: common - before.promptLength };
  return { drift: 'fork', kept: 0 };
}
