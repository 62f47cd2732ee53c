import { createHash } from 'node:crypto';
import { canonicalJson } from '@espalier/contracts';
import { asMessages, MessageError, type ChatMessage, type Json } from '@espalier/trajectory';
import { RequestError } from '../errors.ts';

type Fields = Readonly<Record<string, Json | undefined>>;

/** A chat-completions request as the harness sent it. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  /** Tools as JSON; null without any. */
  readonly toolsJson: string | null;
  readonly stream: boolean;
  /** `stream_options.include_usage`. */
  readonly includeUsage: boolean;
  readonly model: string;
  /** Smallest of the limits the harness set; null without one. */
  readonly maxTokens: number | null;
  /** Fields passed upstream as they are. */
  readonly passed: Fields;
  /** SHA-256, hex, of the canonical body without what changes between equal requests. */
  readonly digest: string;
}

/** What shapes the answer without bending the distribution it is sampled from. */
const PASSED = ['tool_choice', 'parallel_tool_calls', 'response_format', 'stop', 'reasoning_effort'] as const;
/** Bookkeeping of clients: it changes from one sending of a request to the next. */
const UNSTABLE = new Set(['metadata', 'client_metadata', 'user', 'store', 'prompt_cache_key', 'safety_identifier']);

const invalid = (message: string): RequestError => new RequestError(400, 'invalid_request', message);
const isFields = (value: Json | undefined): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function limit(fields: Fields, name: string): number | null {
  const value = fields[name];
  if (value === undefined || value === null) return null;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1) {
    throw invalid(`${name} must be a positive integer`);
  }
  return value;
}

function parseBody(body: string): Fields {
  let value: Json;
  try {
    value = JSON.parse(body) as Json;
  } catch {
    throw invalid('the body is not JSON');
  }
  if (!isFields(value)) throw invalid('the body is not a JSON object');
  return value;
}

function readTools(fields: Fields): readonly Json[] {
  const tools = fields['tools'] ?? null;
  if (tools === null) return [];
  if (!Array.isArray(tools) || !(tools as readonly Json[]).every(isFields))
    throw invalid('tools must be a list of objects');
  return tools as readonly Json[];
}

/** Parses and checks a request. Throws {@link RequestError} (400) naming what is wrong. */
export function parseChatRequest(body: string): ChatRequest {
  const fields = parseBody(body);
  let messages: readonly ChatMessage[];
  try {
    messages = asMessages(fields['messages']);
  } catch (error) {
    throw error instanceof MessageError ? invalid(error.message) : error;
  }
  if (messages.length === 0) throw invalid('messages is empty');
  // One answer a call: with several, which of them the harness went on with would be a guess.
  if (fields['n'] !== undefined && fields['n'] !== null && fields['n'] !== 1) throw invalid('n must be 1');
  const tools = readTools(fields);
  const limits = [limit(fields, 'max_tokens'), limit(fields, 'max_completion_tokens')].filter(
    (value) => value !== null,
  );
  const passed = PASSED.flatMap((name) => {
    const value = fields[name];
    // vLLM refuses a tool choice without tools.
    const useless = tools.length === 0 && (name === 'tool_choice' || name === 'parallel_tool_calls');
    return value === undefined || value === null || useless ? [] : [[name, value] as const];
  });
  const options = fields['stream_options'];
  const stable = Object.fromEntries(Object.entries(fields).filter(([name]) => !UNSTABLE.has(name)));
  return {
    messages,
    toolsJson: tools.length === 0 ? null : JSON.stringify(tools),
    stream: fields['stream'] === true,
    includeUsage: isFields(options) && options['include_usage'] === true,
    model: typeof fields['model'] === 'string' ? fields['model'] : '',
    maxTokens: limits.length === 0 ? null : Math.min(...limits),
    passed: Object.fromEntries(passed),
    digest: createHash('sha256').update(canonicalJson(stable)).digest('hex'),
  };
}
