import type { ChatMessage, Json } from '@espalier/trajectory';
import { UpstreamError } from '../errors.ts';

/** What the policy sampled, captured whole. */
export interface CapturedAnswer {
  readonly message: ChatMessage;
  readonly finishReason: string;
  readonly promptIds: Int32Array;
  readonly outputIds: Int32Array;
  readonly logprobs: Float32Array;
  /** Version the server says it sampled with; null when it does not say. */
  readonly policyVersion: number | null;
}

type Fields = Readonly<Record<string, Json | undefined>>;
const isFields = (value: Json | undefined): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const bad = (message: string): UpstreamError =>
  new UpstreamError('LLM_BAD_ANSWER', `the policy server's answer ${message}`, true);
const incomplete = (message: string): UpstreamError =>
  new UpstreamError(
    'GATEWAY_CAPTURE_INCOMPLETE',
    `${message}; the server must support return_token_ids and logprobs on chat completions`,
    false,
  );

function tokenIds(value: Json | undefined, name: string): Int32Array {
  if (!Array.isArray(value)) throw incomplete(`the answer has no ${name}`);
  const ids = value as readonly Json[];
  const wrong = ids.findIndex((id) => typeof id !== 'number' || !Number.isInteger(id) || id < 0 || id > 0x7fffffff);
  if (wrong >= 0) throw incomplete(`${name}[${wrong}] is not a token id`);
  return Int32Array.from(ids as readonly number[]);
}

function logprobsOf(choice: Fields): Float32Array {
  const logprobs = choice['logprobs'];
  const content = isFields(logprobs) ? logprobs['content'] : undefined;
  if (!Array.isArray(content)) throw incomplete('the answer has no logprobs.content');
  return Float32Array.from(content as readonly Json[], (entry, index) => {
    const value = isFields(entry) ? entry['logprob'] : undefined;
    if (typeof value !== 'number' || !Number.isFinite(value))
      throw incomplete(`logprobs.content[${index}] has no logprob`);
    return value;
  });
}

function toolCall(call: Json, index: number): Json {
  const called = isFields(call) ? call['function'] : undefined;
  if (!isFields(call) || !isFields(called) || typeof called['name'] !== 'string') {
    throw bad(`has a tool call ${index} without a function name`);
  }
  const args = called['arguments'];
  return {
    id: typeof call['id'] === 'string' && call['id'] !== '' ? call['id'] : `call_${index}`,
    type: 'function',
    function: { name: called['name'], arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) },
  };
}

/** The message as it goes to the harness: serving engines' own fields are left out. */
function messageOf(choice: Fields): ChatMessage {
  const message = choice['message'];
  if (!isFields(message)) throw bad('has no message');
  const text = (name: string): string | null => {
    const value = message[name];
    return typeof value === 'string' && value !== '' ? value : null;
  };
  const calls = message['tool_calls'];
  const toolCalls = Array.isArray(calls) ? (calls as readonly Json[]).map(toolCall) : [];
  const reasoning = text('reasoning_content') ?? text('reasoning');
  const refusal = text('refusal');
  return {
    role: 'assistant',
    content: text('content') ?? (toolCalls.length > 0 ? null : ''),
    ...(reasoning === null ? {} : { reasoning_content: reasoning }),
    ...(refusal === null ? {} : { refusal }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
}

/**
 * Reads a chat completion with its token ids and log-probs: `prompt_token_ids` at the top or in the choice, `token_ids` in
 * the choice (vLLM's dialect). Throws {@link UpstreamError} `LLM_BAD_ANSWER` or `GATEWAY_CAPTURE_INCOMPLETE`.
 */
export function captureAnswer(body: string): CapturedAnswer {
  let answer: Json;
  try {
    answer = JSON.parse(body) as Json;
  } catch {
    throw bad('is not JSON');
  }
  const choices = isFields(answer) ? answer['choices'] : undefined;
  const choice = Array.isArray(choices) ? (choices as readonly Json[])[0] : undefined;
  if (!isFields(answer) || !isFields(choice)) throw bad('has no choices');
  const message = messageOf(choice);
  const finishReason = typeof choice['finish_reason'] === 'string' ? choice['finish_reason'] : 'stop';
  // An engine that stops for a weight update gives back what it had: not an answer of the policy.
  if (finishReason === 'abort')
    throw new UpstreamError('LLM_UNAVAILABLE', 'the policy server aborted the answer', true);
  const promptIds = tokenIds(answer['prompt_token_ids'] ?? choice['prompt_token_ids'], 'prompt_token_ids');
  const outputIds = tokenIds(choice['token_ids'], 'token_ids');
  const logprobs = logprobsOf(choice);
  if (promptIds.length === 0) throw incomplete('prompt_token_ids is empty');
  if (outputIds.length !== logprobs.length) {
    throw incomplete(`the answer has ${outputIds.length} token ids but ${logprobs.length} log-probs`);
  }
  const empty = message['content'] === '' && message['tool_calls'] === undefined;
  if (outputIds.length === 0 && !empty) throw incomplete('the answer has text but no token ids');
  const version = answer['policy_version'];
  const known = typeof version === 'number' && Number.isSafeInteger(version) && version >= 0;
  return { message, finishReason, promptIds, outputIds, logprobs, policyVersion: known ? version : null };
}
