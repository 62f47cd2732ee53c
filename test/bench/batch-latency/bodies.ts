import { sampleIdFor, type BodyDraftMap, type EventMap } from '@espalier/contracts';

/** Tokens of one trajectory: a long coding rollout. */
export const TOKENS = 21_000;
/** Of these the policy sampled every sixth stretch of 350: the rest are prompts and tool output. */
const STRETCH = 350;
const TURNS = 30;
const TEXT_BYTES = 80_000;

/** Deterministic pseudo-random numbers in [0, 1): equal runs make equal bodies. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * Makes bodies as a rollout-runner stores them: {@link TOKENS} token ids with log-probs and mask in one sample, and a
 * message tree of {@link TURNS} turns over 80 kB of text. Cut from one long random sequence at a random place, so that
 * each is different and making one takes microseconds: what is measured is the plane.
 */
export class Bodies {
  readonly #random = randomFrom(7);
  readonly #ids = new Int32Array(TOKENS * 20);
  readonly #logprobs = new Float32Array(TOKENS * 20);
  readonly #text: string;

  constructor() {
    for (let index = 0; index < this.#ids.length; index += 1) {
      // Few tokens are frequent, most are rare, as in text.
      this.#ids[index] = Math.floor(32_000 * this.#random() ** 3);
      this.#logprobs[index] = Math.log(Math.max(1e-6, this.#random()));
    }
    const words = Array.from({ length: 2_000 }, () => Math.floor(this.#random() * 36 ** 6).toString(36));
    const parts: string[] = [];
    for (let size = 0; size < TEXT_BYTES * 4;) {
      const word = words[Math.floor(words.length * this.#random() ** 2)] ?? '';
      parts.push(word);
      size += word.length + 1;
    }
    this.#text = parts.join(' ');
  }

  of(request: EventMap['rollout.requested']): BodyDraftMap['trajectory.body'] {
    const at = Math.floor(this.#random() * (this.#ids.length - TOKENS));
    const textAt = Math.floor(this.#random() * (this.#text.length - TEXT_BYTES));
    const share = Math.floor(TEXT_BYTES / TURNS);
    const trajectoryId = `${request.attempt_id}/t`;
    const maskRuns: number[] = [];
    for (let left = TOKENS; left > 0; left -= STRETCH) maskRuns.push(Math.min(left, STRETCH));
    return {
      trajectory_id: trajectoryId,
      attempt_id: request.attempt_id,
      task_id: request.task.task_id,
      harness: request.harness.name,
      model: request.policy.model,
      instruction: this.#text.slice(textAt, textAt + 400),
      nodes: Array.from({ length: TURNS }, (_, index) => ({
        node_no: index,
        parent: index - 1,
        role: index % 2 === 0 ? 'user' : 'assistant',
        message_json: JSON.stringify({
          content: this.#text.slice(textAt + index * share, textAt + (index + 1) * share),
        }),
        sampled: index % 2 === 1,
        timestamp: 0,
      })),
      calls: [],
      samples: [
        {
          sample_id: sampleIdFor(trajectoryId, 0),
          leaf_node: TURNS - 1,
          token_ids: this.#ids.slice(at, at + TOKENS),
          logprobs: this.#logprobs.slice(at, at + TOKENS),
          mask_runs: maskRuns,
          version_runs: [{ version: 0, length: TOKENS }],
        },
      ],
    };
  }
}
