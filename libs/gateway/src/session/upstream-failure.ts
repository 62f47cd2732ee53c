import type { Failure } from '@espalier/contracts';
import type { UpstreamErrorCode } from '../errors.ts';
import type { PolicyUnansweredError } from '../upstream/chat-upstream.ts';
import { wireError, type WireError } from '../wire/openai-error.ts';

/** What an unanswered call means for the rollout. */
export interface UpstreamVerdict {
  readonly failure: Failure;
  readonly error: WireError;
  /** The rollout cannot go on: infrastructure failed under it. */
  readonly fatal: boolean;
}

const failureOf = (
  failureClass: Failure['class'],
  code: UpstreamErrorCode,
  message: string,
  retryable: boolean,
): Failure => ({ class: failureClass, code, message: message.slice(0, 1_000), stage: 'model', retryable });

/** Classes an unanswered call: the policy's doing, the budget's, or infrastructure's. */
export function verdictOf({ code, message }: PolicyUnansweredError, contextTokens: number): UpstreamVerdict {
  switch (code) {
    case 'LLM_CONTEXT':
      return {
        failure: failureOf('BUDGET', code, message, false),
        error: wireError(
          400,
          'context_length_exceeded',
          `This model's maximum context length is ${contextTokens} tokens; the messages are longer.`,
        ),
        fatal: false,
      };
    case 'LLM_REFUSED':
      return {
        failure: failureOf('POLICY', code, message, false),
        error: wireError(400, 'invalid_request', message),
        fatal: false,
      };
    case 'LLM_UNAVAILABLE':
    case 'LLM_BAD_ANSWER':
    case 'GATEWAY_CAPTURE_INCOMPLETE':
      return {
        failure: failureOf('INFRA', code, message, code !== 'GATEWAY_CAPTURE_INCOMPLETE'),
        error: wireError(502, code.toLowerCase(), 'the policy could not be asked; this rollout ends'),
        fatal: true,
      };
    case 'LLM_TIMEOUT':
      return {
        failure: failureOf('INFRA', code, message, true),
        error: wireError(504, 'llm_timeout', 'the policy did not answer in time; this rollout ends'),
        fatal: true,
      };
  }
}
