import type { Rubric, RubricKey } from './rubrics.ts';

/** The judge's values for some rubrics. */
export interface Judgement {
  readonly values: ReadonlyMap<RubricKey, number>;
  readonly notes: string;
}

/** The judge did not answer in the form asked for. */
export class JudgementFormError extends Error {
  readonly code = 'JUDGE_BAD_ANSWER';
  readonly retryable = true;
}

const NOTES_CHARS = 2_000;

/**
 * Reads an answer strictly: one JSON object, every asked rubric once with a value in steps of 0.1, notes at will, and
 * nothing else. Throws {@link JudgementFormError}; nothing is guessed, since a guessed value would become a reward.
 */
export function parseJudgement(text: string, asked: readonly Rubric[]): Judgement {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new JudgementFormError('the answer is not JSON');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new JudgementFormError('the answer is not a JSON object');
  const { notes = '', ...given } = parsed as Record<string, unknown>;
  if (typeof notes !== 'string') throw new JudgementFormError('"notes" is not a text');
  const values = new Map<RubricKey, number>();
  for (const { key } of asked) {
    const value = given[key];
    if (typeof value !== 'number') throw new JudgementFormError(`"${key}" has no number`);
    if (!(value >= 0 && value <= 1) || Math.abs(value * 10 - Math.round(value * 10)) > 1e-9)
      throw new JudgementFormError(`"${key}" is ${value}; it has to be from 0.0 to 1.0 in steps of 0.1`);
    values.set(key, Math.round(value * 10) / 10);
  }
  const unknown = Object.keys(given).filter((key) => !asked.some((rubric) => rubric.key === key));
  if (unknown.length > 0) throw new JudgementFormError(`the answer has fields not asked for: ${unknown.join(', ')}`);
  return { values, notes: notes.slice(0, NOTES_CHARS) };
}
