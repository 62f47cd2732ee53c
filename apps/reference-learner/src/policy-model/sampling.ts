import { createHash } from 'node:crypto';
import { AnswerWalk, type Continuation } from './answer-trie.ts';
import { choicesFor } from './choices.ts';
import type { LogitTable } from './logit-table.ts';

/** A sampled token with its log-probability under the distribution it was drawn from. */
export interface SampledToken {
  readonly token: number;
  readonly logprob: number;
}

/** What was sampled. */
export interface SampledAnswer {
  readonly tokens: readonly SampledToken[];
  /** Whether the answer ended by itself, within the most tokens allowed. */
  readonly complete: boolean;
}

/** How to sample. */
export interface SamplingOptions {
  /** 0 takes the likeliest token; otherwise log-probabilities are those of the tempered distribution. */
  readonly temperature: number;
  /** Equal seeds repeat exactly on an equal prompt and table; null draws anew. */
  readonly seed: number | null;
  readonly maxTokens: number;
}

/** Uniform numbers in [0, 1): xorshift128 seeded by SHA-256, so that neighbouring seeds share nothing. */
export function uniformFrom(...seeds: readonly (string | Uint8Array)[]): () => number {
  const hash = createHash('sha256');
  for (const seed of seeds) hash.update(seed).update('\0');
  const digest = hash.digest();
  const state = new Uint32Array([0, 4, 8, 12].map((at) => digest.readUInt32LE(at)));
  return () => {
    const [s = 1, , , last = 1] = state;
    let t = last ^ (last << 11);
    t ^= t >>> 8;
    state.copyWithin(1, 0, 3);
    state[0] = t ^ s ^ (s >>> 19);
    return (state[0] ?? 0) / 2 ** 32;
  };
}

function draw(continuations: readonly Continuation[], uniform: () => number): Continuation | undefined {
  let left = uniform();
  for (const continuation of continuations) {
    left -= Math.exp(continuation.logprob);
    if (left < 0) return continuation;
  }
  return continuations.at(-1);
}

const likeliest = (continuations: readonly Continuation[]): Continuation | undefined =>
  continuations.reduce<Continuation | undefined>(
    (best, one) => (best === undefined || one.logprob > best.logprob ? one : best),
    undefined,
  );

/** Samples an answer to a prompt. */
export function sampleAnswer(prompt: readonly number[], table: LogitTable, options: SamplingOptions): SampledAnswer {
  const walk = new AnswerWalk(choicesFor(prompt));
  const uniform =
    options.seed === null
      ? Math.random
      : uniformFrom(String(options.seed), new Uint8Array(Int32Array.from(prompt).buffer));
  const greedy = options.temperature === 0;
  const tokens: SampledToken[] = [];
  for (;;) {
    const continuations = walk.next(table, greedy ? 1 : options.temperature);
    if (continuations.length === 0) return { tokens, complete: true };
    if (tokens.length >= options.maxTokens) return { tokens, complete: false };
    const chosen =
      continuations.length === 1 ? continuations[0] : greedy ? likeliest(continuations) : draw(continuations, uniform);
    if (!chosen) return { tokens, complete: false };
    tokens.push({ token: chosen.token, logprob: chosen.logprob });
    walk.say(chosen.token);
  }
}
