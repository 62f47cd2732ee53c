import type { ChatAnswer } from '../wire/chat-answer.ts';
import { completionBody, completionStream } from '../wire/chat-answer.ts';
import { errorBody, type WireError } from '../wire/openai-error.ts';
import type { AnswerWriter } from '../ports.ts';

/** How a call is answered: the policy's answer, or an error. */
export type Outcome =
  | { readonly kind: 'answer'; readonly answer: ChatAnswer; readonly streamed: boolean }
  | { readonly kind: 'error'; readonly error: WireError };

/** A call that was asked, and its outcome once there is one. */
export interface BookedCall {
  readonly digest: string;
  readonly outcome: Promise<Outcome>;
}

const DATA_BYTES = 64 * 1024;

/**
 * Calls by the agent's key. The policy is asked once per key; the same call, sent again, waits for the same outcome. A call
 * that its harness gave up before the answer was through is answered once more to an equal request under another key:
 * harnesses resend what they did not receive.
 */
export class AnswerBook {
  readonly #calls = new Map<string, BookedCall>();
  readonly #abandoned = new Map<string, BookedCall>();

  find(key: string): BookedCall | undefined {
    return this.#calls.get(key);
  }

  add(key: string, call: BookedCall): BookedCall {
    this.#calls.set(key, call);
    return call;
  }

  /** The harness gave `key` up. */
  abandon(key: string): void {
    const call = this.#calls.get(key);
    if (call) this.#abandoned.set(call.digest, call);
  }

  /** Takes over a call with this digest that was given up; only one call may. */
  inherit(key: string, digest: string): BookedCall | undefined {
    const call = this.#abandoned.get(digest);
    if (!call) return undefined;
    this.#abandoned.delete(digest);
    return this.add(key, call);
  }
}

/** Writes an outcome from byte `delivered` on. */
export async function writeOutcome(outcome: Outcome, delivered: number, to: AnswerWriter): Promise<void> {
  if (outcome.kind === 'error') {
    await writeBody(outcome.error.status, 'application/json', errorBody(outcome.error), delivered, to);
  } else if (outcome.streamed) {
    await writeBody(200, 'text/event-stream; charset=utf-8', completionStream(outcome.answer), delivered, to);
  } else {
    await writeBody(200, 'application/json', completionBody(outcome.answer), delivered, to);
  }
}

/** Writes a whole answer from byte `delivered` on. */
export async function writeBody(
  status: number,
  contentType: string,
  body: Buffer,
  delivered: number,
  to: AnswerWriter,
): Promise<void> {
  to.head(status, { 'content-type': contentType, 'cache-control': 'no-cache' });
  for (let at = delivered; at < body.length; at += DATA_BYTES) await to.data(body.subarray(at, at + DATA_BYTES));
  to.end();
}
