import { createHash } from 'node:crypto';
import type { ChatMessage, Json } from '@espalier/trajectory';

/**
 * An answer as it is recorded (`response_json`): everything that its bytes depend on. Bodies and streams made of it are
 * pure functions, so that any runner continues an answer at any byte.
 */
export interface ChatAnswer {
  readonly id: string;
  /** Seconds UTC. */
  readonly created: number;
  readonly model: string;
  readonly message: ChatMessage;
  readonly finish_reason: string;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly include_usage: boolean;
}

/** Code points of text in one chunk of a stream. */
const CHUNK_POINTS = 64;

/** Id of the completion that answers a call. */
export const completionId = (callId: string): string =>
  `chatcmpl-${createHash('sha256').update(callId).digest('hex').slice(0, 24)}`;

const usageOf = ({ prompt_tokens, completion_tokens }: ChatAnswer): Json => ({
  prompt_tokens,
  completion_tokens,
  total_tokens: prompt_tokens + completion_tokens,
});

/** The answer as one JSON body. */
export function completionBody(answer: ChatAnswer): Buffer {
  const { id, created, model, message, finish_reason } = answer;
  return Buffer.from(
    JSON.stringify({
      id,
      object: 'chat.completion',
      created,
      model,
      choices: [{ index: 0, message, finish_reason, logprobs: null }],
      usage: usageOf(answer),
    }),
  );
}

function pieces(text: Json | undefined): string[] {
  if (typeof text !== 'string') return [];
  const points = Array.from(text);
  const count = Math.ceil(points.length / CHUNK_POINTS);
  return Array.from({ length: count }, (_, at) => points.slice(at * CHUNK_POINTS, (at + 1) * CHUNK_POINTS).join(''));
}

function toolDeltas(call: Json, index: number): Json[] {
  const {
    id,
    type,
    function: called,
  } = call as { id?: Json; type?: Json; function?: { name?: Json; arguments?: Json } };
  const head = {
    index,
    id: id ?? null,
    type: type ?? 'function',
    function: { name: called?.name ?? '', arguments: '' },
  };
  const rest = pieces(called?.arguments).map((part) => ({ index, function: { arguments: part } }));
  return [head, ...rest].map((part) => ({ tool_calls: [part] }));
}

function deltasOf(message: ChatMessage): Json[] {
  const calls = message['tool_calls'];
  return [
    { role: 'assistant', content: '' },
    ...pieces(message['reasoning_content']).map((part) => ({ reasoning_content: part })),
    ...pieces(message['content']).map((part) => ({ content: part })),
    ...pieces(message['refusal']).map((part) => ({ refusal: part })),
    ...(Array.isArray(calls) ? (calls as readonly Json[]).flatMap(toolDeltas) : []),
  ];
}

/** The answer as a server-sent event stream, whole. */
export function completionStream(answer: ChatAnswer): Buffer {
  const { id, created, model, finish_reason, include_usage } = answer;
  const chunk = (choices: Json, usage?: Json): string => {
    const extra = include_usage ? { usage: usage ?? null } : {};
    return `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, model, choices, ...extra })}\n\n`;
  };
  return Buffer.from(
    [
      ...deltasOf(answer.message).map((delta) => chunk([{ index: 0, delta, finish_reason: null }])),
      chunk([{ index: 0, delta: {}, finish_reason }]),
      ...(include_usage ? [chunk([], usageOf(answer))] : []),
      'data: [DONE]\n\n',
    ].join(''),
  );
}
