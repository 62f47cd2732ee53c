import { bytesOf, SPECIAL, textOf } from './vocabulary.ts';

/** A tool call of an answer. */
export interface ToolCall {
  readonly name: string;
  /** Arguments as JSON text. */
  readonly arguments: string;
}

/** A message, reduced to what the template renders. */
export interface Turn {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly text: string;
  /** Assistant only. */
  readonly calls: readonly ToolCall[];
}

/** What a prompt says, read back from its tokens. */
export interface Conversation {
  /** Names of the tools offered. */
  readonly tools: readonly string[];
  readonly turns: readonly Turn[];
}

/** Arguments in one spelling: a client that parses and writes JSON anew gives the same tokens. */
export function canonicalArguments(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

/**
 * Tokens of an answer, its end included: exactly what the policy samples. A later prompt renders the same message to
 * the same tokens, so each prompt begins with the one before it and the answer to that.
 */
export function renderAnswer(turn: Pick<Turn, 'text' | 'calls'>): number[] {
  const calls = turn.calls.flatMap((call) => [
    SPECIAL.call,
    ...bytesOf(call.name),
    SPECIAL.arguments,
    ...bytesOf(canonicalArguments(call.arguments)),
  ]);
  return [...bytesOf(turn.text), ...calls, SPECIAL.end];
}

/** Prompt tokens: tools, every turn, then the opening of the assistant's. */
export function renderPrompt(conversation: Conversation): number[] {
  const tokens: number[] = [];
  const append = (more: readonly number[]): void => {
    for (const token of more) tokens.push(token);
  };
  if (conversation.tools.length > 0) append([SPECIAL.tools, ...bytesOf(conversation.tools.join('\n')), SPECIAL.end]);
  for (const turn of conversation.turns) {
    tokens.push(SPECIAL[turn.role]);
    append(turn.role === 'assistant' ? renderAnswer(turn) : [...bytesOf(turn.text), SPECIAL.end]);
  }
  tokens.push(SPECIAL.assistant);
  return tokens;
}

/** An answer's message from its tokens; the end may be missing where it was cut off. */
export function parseAnswer(tokens: readonly number[]): Pick<Turn, 'text' | 'calls'> {
  const end = tokens.indexOf(SPECIAL.end);
  const [head = [], ...calls] = split(end < 0 ? tokens : tokens.slice(0, end), SPECIAL.call);
  return {
    text: textOf(head),
    calls: calls.map((call) => {
      const [name = [], ...rest] = split(call, SPECIAL.arguments);
      return { name: textOf(name), arguments: textOf(rest.flat()) };
    }),
  };
}

function split(tokens: readonly number[], at: number): number[][] {
  const parts: number[][] = [[]];
  for (const token of tokens) {
    if (token === at) parts.push([]);
    else parts.at(-1)?.push(token);
  }
  return parts;
}

const roles = new Map<number, Turn['role']>([
  [SPECIAL.system, 'system'],
  [SPECIAL.user, 'user'],
  [SPECIAL.assistant, 'assistant'],
  [SPECIAL.tool, 'tool'],
]);

/** Reads a prompt back; the opening of an answer at the end is not a turn. */
export function parsePrompt(tokens: readonly number[]): Conversation {
  const tools: string[] = [];
  const turns: Turn[] = [];
  let start = 0;
  for (let at = tokens.indexOf(SPECIAL.end); at >= 0; at = tokens.indexOf(SPECIAL.end, start)) {
    const opening = tokens[start];
    const body = tokens.slice(start + 1, at);
    start = at + 1;
    if (opening === SPECIAL.tools) tools.push(...textOf(body).split('\n'));
    const role = opening === undefined ? undefined : roles.get(opening);
    if (role === 'assistant') turns.push({ role, ...parseAnswer(body) });
    else if (role !== undefined) turns.push({ role, text: textOf(body), calls: [] });
  }
  return { tools, turns };
}
