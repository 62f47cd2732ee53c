import { createHash } from 'node:crypto';
import { z } from 'zod';
import { parseAnswer, renderPrompt, type Conversation, type Turn } from '../policy-model/chat-template.ts';
import { sampleAnswer } from '../policy-model/sampling.ts';
import { tokenName } from '../policy-model/vocabulary.ts';
import type { ServedPolicy } from './served-policy.ts';

/** A request that this server cannot serve; answered 400 in OpenAI's error form. */
export class ChatRequestError extends Error {
  readonly code = 'CHAT_REQUEST_INVALID';
  readonly retryable = false;
}

const content = z
  .union([z.string(), z.array(z.looseObject({ type: z.string(), text: z.string().optional() }))])
  .nullish()
  .transform((value) => (typeof value === 'string' ? value : (value ?? []).map(({ text }) => text ?? '').join('')));

const calls = z
  .array(z.looseObject({ function: z.looseObject({ name: z.string(), arguments: z.string().default('{}') }) }))
  .nullish();

const message = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content,
  tool_calls: calls,
});

const requestSchema = z.looseObject({
  model: z.string().optional(),
  messages: z.array(message).min(1),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).nullish(),
  temperature: z.number().min(0).max(100).nullish(),
  top_p: z.number().nullish(),
  seed: z.number().int().nullish(),
  max_tokens: z.number().int().min(1).nullish(),
  max_completion_tokens: z.number().int().min(1).nullish(),
  n: z.number().int().nullish(),
  stream: z.boolean().nullish(),
});

/** A chat completion request, checked. */
export type ChatRequest = z.infer<typeof requestSchema>;

/** Most tokens of an answer where a request names none. */
const MAX_TOKENS = 4_096;

/** Checks a request body. Throws {@link ChatRequestError} naming every bad field. */
export function parseChatRequest(body: unknown): ChatRequest {
  const parsed = requestSchema.safeParse(body);
  if (!parsed.success)
    throw new ChatRequestError(
      parsed.error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`).join('; '),
    );
  const { stream, n, top_p: topP } = parsed.data;
  if (stream === true) throw new ChatRequestError('stream: this server answers whole completions only');
  if ((n ?? 1) !== 1) throw new ChatRequestError('n: this server gives one choice');
  if ((topP ?? 1) !== 1) throw new ChatRequestError('top_p: this server samples the whole distribution; leave it at 1');
  return parsed.data;
}

const roleOf = (role: ChatRequest['messages'][number]['role']): Turn['role'] =>
  role === 'developer' ? 'system' : role;

/** What the template renders of a request. */
export function conversationOf(request: ChatRequest): Conversation {
  return {
    tools: (request.tools ?? []).map((tool) => tool.function.name),
    turns: request.messages.map(({ role, content: text, tool_calls: toolCalls }) => ({
      role: roleOf(role),
      text,
      calls: role === 'assistant' ? (toolCalls ?? []).map((call) => call.function) : [],
    })),
  };
}

interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: number[] | null;
  readonly top_logprobs: never[];
}

/** A completion, with what a trainer needs beside what OpenAI's API says. */
export interface ChatCompletion {
  readonly id: string;
  readonly object: 'chat.completion';
  readonly created: number;
  readonly model: string;
  /** Version that sampled the whole answer. */
  readonly policy_version: number;
  readonly prompt_token_ids: number[];
  readonly choices: readonly [
    {
      readonly index: 0;
      readonly finish_reason: 'stop' | 'tool_calls' | 'length';
      readonly message: {
        readonly role: 'assistant';
        readonly content: string | null;
        readonly tool_calls?: readonly {
          readonly id: string;
          readonly type: 'function';
          readonly function: { readonly name: string; readonly arguments: string };
        }[];
      };
      readonly token_ids: number[];
      readonly logprobs: { readonly content: readonly TokenLogprob[] };
    },
  ];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly total_tokens: number };
}

/** Samples the answer to a request from one policy version. Equal seeds on equal requests and versions repeat exactly. */
export function complete(request: ChatRequest, policy: ServedPolicy, now: number): ChatCompletion {
  const prompt = renderPrompt(conversationOf(request));
  const answer = sampleAnswer(prompt, policy.table, {
    temperature: request.temperature ?? 1,
    seed: request.seed ?? null,
    maxTokens: request.max_completion_tokens ?? request.max_tokens ?? MAX_TOKENS,
  });
  const tokenIds = answer.tokens.map(({ token }) => token);
  const { text, calls: toolCalls } = parseAnswer(tokenIds);
  const whole = answer.complete ? toolCalls : [];
  // Ids follow from the answer, so that a repeated request repeats them too.
  const digest = createHash('sha256')
    .update(Int32Array.from([...prompt, ...tokenIds]))
    .digest('hex');
  return {
    id: `chatcmpl-${digest.slice(0, 24)}`,
    object: 'chat.completion',
    created: Math.floor(now / 1_000),
    model: policy.model,
    policy_version: policy.version,
    prompt_token_ids: prompt,
    choices: [
      {
        index: 0,
        finish_reason: answer.complete ? (whole.length > 0 ? 'tool_calls' : 'stop') : 'length',
        message: {
          role: 'assistant',
          content: whole.length > 0 && text === '' ? null : text,
          ...(whole.length > 0
            ? {
                tool_calls: whole.map((call, index) => ({
                  id: `call_${digest.slice(24, 40)}${index}`,
                  type: 'function' as const,
                  function: call,
                })),
              }
            : {}),
        },
        token_ids: tokenIds,
        logprobs: {
          content: answer.tokens.map(({ token, logprob }) => ({
            token: tokenName(token),
            logprob,
            bytes: token < 256 ? [token] : null,
            top_logprobs: [],
          })),
        },
      },
    ],
    usage: {
      prompt_tokens: prompt.length,
      completion_tokens: tokenIds.length,
      total_tokens: prompt.length + tokenIds.length,
    },
  };
}
