import { canonicalJson } from '@espalier/contracts';
import { MessageError } from './errors.ts';

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

/** A chat message as a harness sends it or the policy gives it. */
export interface ChatMessage {
  readonly role: string;
  readonly [key: string]: Json | undefined;
}

const isRecord = (value: unknown): value is Record<string, Json | undefined> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Checks that `value` is a list of chat messages. Throws {@link MessageError} naming the first that is not. */
export function asMessages(value: unknown): readonly ChatMessage[] {
  if (!Array.isArray(value)) throw new MessageError('messages is not a list');
  for (const [index, message] of value.entries()) {
    if (!isRecord(message) || typeof message['role'] !== 'string' || message['role'] === '') {
      throw new MessageError(`messages[${index}] is not an object with a role`);
    }
  }
  return value as readonly ChatMessage[];
}

function canonicalPart(part: Json): Json {
  if (!isRecord(part)) return part;
  const { cache_control: _moves, ...rest } = part;
  return rest;
}

/** Content as harnesses vary it: plain text, text parts, null and absent mean the same when their text is the same. */
function canonicalContent(content: Json | undefined): Json {
  if (content === undefined || content === null) return '';
  if (!Array.isArray(content)) return content;
  const parts = (content as readonly Json[]).map(canonicalPart);
  const texts = parts.map((part) => (isRecord(part) && part['type'] === 'text' ? part['text'] : undefined));
  return texts.every((text): text is string => typeof text === 'string') ? texts.join('') : parts;
}

/** Arguments as harnesses re-serialise them: compared as values where they parse. */
function canonicalArguments(text: Json | undefined): Json {
  if (typeof text !== 'string') return text ?? '';
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

function canonicalCall(call: Json): Json {
  const called = isRecord(call) ? call['function'] : undefined;
  if (!isRecord(called)) return call;
  return { name: called['name'] ?? '', arguments: canonicalArguments(called['arguments']) };
}

/**
 * What makes two messages the same message. Harnesses resend history in other shapes (content parts, re-serialised tool
 * arguments, moved cache marks, reasoning dropped, answers trimmed, ids renamed): all of that is left out here, because
 * the token ids decide afterwards whether the policy really saw the same text.
 */
export function messageKey(message: ChatMessage): string {
  const known = keys.get(message);
  if (known !== undefined) return known;
  const key = keyOf(message);
  keys.set(message, key);
  return key;
}

/** A request's messages are looked at several times, and there may be hundreds of them. */
const keys = new WeakMap<ChatMessage, string>();

function keyOf(message: ChatMessage): string {
  const content = canonicalContent(message['content']);
  const calls = message['tool_calls'];
  const assistant = message.role === 'assistant';
  return canonicalJson({
    role: message.role === 'developer' ? 'system' : message.role,
    content: assistant && typeof content === 'string' ? content.trim() : content,
    ...(message['name'] === undefined || message['name'] === null ? {} : { name: message['name'] }),
    ...(Array.isArray(calls) && calls.length > 0 ? { calls: (calls as readonly Json[]).map(canonicalCall) } : {}),
  });
}

/** Text of a message, content parts joined; empty when it has none. */
export function messageText(message: ChatMessage): string {
  const content = canonicalContent(message['content']);
  return typeof content === 'string' ? content : canonicalJson(content ?? null);
}
