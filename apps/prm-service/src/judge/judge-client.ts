import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { parseJudgement, JudgementFormError, type Judgement } from './judgement.ts';
import type { JudgeMessage } from './prompt.ts';
import type { Rubric } from './rubrics.ts';

/** The judge could not be asked: down, overloaded, or refusing. */
export class JudgeUnavailableError extends Error {
  readonly code: 'JUDGE_UNAVAILABLE' | 'JUDGE_REFUSED';
  readonly retryable: boolean;
  constructor(code: 'JUDGE_UNAVAILABLE' | 'JUDGE_REFUSED', message: string) {
    super(message);
    this.code = code;
    this.retryable = code === 'JUDGE_UNAVAILABLE';
  }
}

/** The judge did not answer in time. */
export class JudgeTimeoutError extends Error {
  readonly code = 'JUDGE_TIMEOUT';
  readonly retryable = true;
}

/** How to reach the judge. */
export interface JudgeEndpoint {
  /** OpenAI-compatible base URL, ending in /v1. */
  readonly url: string;
  readonly apiKey: string | null;
  readonly model: string;
}

/** How to ask. */
export interface JudgeOptions {
  readonly temperature: number;
  /** Limit of one answer, milliseconds. */
  readonly timeoutMs: number;
  /** Most tries, over bad answers and failures together. */
  readonly attempts: number;
  /** When the verdict is no longer wanted, milliseconds UTC. */
  readonly deadlineAt: number;
  readonly signal: AbortSignal;
}

/** A judgement and what it took. */
export interface AskedJudgement extends Judgement {
  readonly attempts: number;
}

const answerSchema = z.looseObject({
  choices: z.array(z.looseObject({ message: z.looseObject({ content: z.string() }) })).min(1),
});

const PAUSE_MS = 500;

/**
 * Asks until an answer has the right form. A bad answer is shown to the judge with what is wrong with it. Throws
 * {@link JudgementFormError}, {@link JudgeTimeoutError} or {@link JudgeUnavailableError} of the last try.
 */
export async function askJudge(
  endpoint: JudgeEndpoint,
  messages: readonly JudgeMessage[],
  asked: readonly Rubric[],
  options: JudgeOptions,
): Promise<AskedJudgement> {
  let conversation = messages;
  for (let attempt = 1; ; attempt++) {
    try {
      const text = await completion(endpoint, conversation, options);
      try {
        return { ...parseJudgement(text, asked), attempts: attempt };
      } catch (error) {
        if (!(error instanceof JudgementFormError)) throw error;
        conversation = [
          ...messages,
          { role: 'assistant', content: text.slice(0, 4_000) },
          { role: 'user', content: `That cannot be read: ${error.message}. Answer again with the JSON object alone.` },
        ];
        throw error;
      }
    } catch (error) {
      options.signal.throwIfAborted();
      const known =
        error instanceof JudgementFormError ||
        error instanceof JudgeTimeoutError ||
        error instanceof JudgeUnavailableError;
      if (!known || !error.retryable || attempt >= options.attempts || Date.now() >= options.deadlineAt) throw error;
      if (error instanceof JudgeUnavailableError)
        await delay(PAUSE_MS * attempt, undefined, { signal: options.signal });
    }
  }
}

async function completion(
  endpoint: JudgeEndpoint,
  messages: readonly JudgeMessage[],
  { temperature, timeoutMs, deadlineAt, signal }: JudgeOptions,
): Promise<string> {
  const limitMs = Math.max(1, Math.min(timeoutMs, deadlineAt - Date.now()));
  const limit = AbortSignal.timeout(limitMs);
  try {
    const response = await fetch(`${endpoint.url}/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(endpoint.apiKey === null ? {} : { authorization: `Bearer ${endpoint.apiKey}` }),
      },
      body: JSON.stringify({
        model: endpoint.model,
        messages,
        temperature,
        response_format: { type: 'json_object' },
      }),
      signal: AbortSignal.any([limit, signal]),
    });
    const text = await response.text();
    if (!response.ok) {
      const busy = response.status >= 500 || response.status === 429 || response.status === 408;
      throw new JudgeUnavailableError(
        busy ? 'JUDGE_UNAVAILABLE' : 'JUDGE_REFUSED',
        `the judge at ${endpoint.url} answered ${response.status}: ${text.slice(0, 300)}`,
      );
    }
    return contentOf(text);
  } catch (error) {
    signal.throwIfAborted();
    if (limit.aborted) throw new JudgeTimeoutError(`the judge at ${endpoint.url} gave no answer within ${limitMs} ms`);
    if (error instanceof JudgeUnavailableError || error instanceof JudgementFormError) throw error;
    throw new JudgeUnavailableError(
      'JUDGE_UNAVAILABLE',
      `the judge at ${endpoint.url} cannot be reached: ${describe(error)}`,
    );
  }
}

function contentOf(text: string): string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new JudgementFormError('the endpoint did not answer with JSON');
  }
  const answer = answerSchema.safeParse(parsed);
  if (!answer.success) throw new JudgementFormError('the endpoint did not answer with a chat completion');
  return answer.data.choices[0]?.message.content ?? '';
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
