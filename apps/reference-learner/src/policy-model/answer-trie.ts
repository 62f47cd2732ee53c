import type { Choices } from './choices.ts';
import type { LogitTable } from './logit-table.ts';
import { tokenName } from './vocabulary.ts';

/** A token that may follow, with its natural log-probability. */
export interface Continuation {
  readonly token: number;
  readonly logprob: number;
}

/** The walk down one answer: which answers still fit what was said so far. */
export class AnswerWalk {
  #fitting: readonly (readonly number[])[];
  #place: string;
  #depth = 0;

  constructor(choices: Choices) {
    this.#fitting = choices.answers;
    this.#place = `${choices.stateKey}:`;
  }

  /** Where learned logits of the next token are looked up: state key and everything said so far. */
  get place(): string {
    return this.#place;
  }

  /**
   * Distribution over the next token. Prior logit: log of the number of answers below it, which makes all answers
   * equally likely; the learned logit is added. One continuation has log-probability exactly 0; none means the answer
   * is complete, or is not one of this policy's.
   */
  next(table: LogitTable, temperature = 1): Continuation[] {
    const below = new Map<number, number>();
    for (const answer of this.#fitting) {
      const token = answer[this.#depth];
      if (token !== undefined) below.set(token, (below.get(token) ?? 0) + 1);
    }
    const entries = [...below].sort(([a], [b]) => a - b);
    if (entries.length === 1) return entries.map(([token]) => ({ token, logprob: 0 }));
    const logits = entries.map(([token, count]) => (Math.log(count) + table.at(this.#place, token)) / temperature);
    const highest = Math.max(...logits);
    const logSum = highest + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - highest), 0));
    return entries.map(([token], index) => ({ token, logprob: (logits[index] ?? 0) - logSum }));
  }

  /** Says a token. */
  say(token: number): void {
    this.#fitting = this.#fitting.filter((answer) => answer[this.#depth] === token);
    this.#place += tokenName(token);
    this.#depth++;
  }
}
