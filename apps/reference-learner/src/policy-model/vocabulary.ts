/**
 * Token ids: 0-255 are the bytes of UTF-8 text; the ids above structure a conversation. No text can produce those, so
 * what a task or a tool prints never opens or closes a turn.
 */
export const SPECIAL = {
  tools: 256,
  system: 257,
  user: 258,
  assistant: 259,
  tool: 260,
  /** Opens a tool call inside an answer; its name follows. */
  call: 261,
  /** Ends a tool call's name; its arguments follow. */
  arguments: 262,
  /** Ends a turn. */
  end: 263,
} as const;

/** Number of token ids. */
export const VOCABULARY_SIZE = 264;

const names = new Map<number, string>(Object.entries(SPECIAL).map(([name, id]) => [id, `<|${name}|>`]));

/** Token ids of a text. */
export const bytesOf = (text: string): number[] => [...Buffer.from(text, 'utf8')];

/** Text of byte tokens; structure tokens among them are left out. */
export const textOf = (tokens: readonly number[]): string =>
  Buffer.from(tokens.filter((token) => token < 256)).toString('utf8');

/** A single token as people see it: the character, `<0xNN>` for a byte that is none alone, `<|name|>` for structure. */
export function tokenName(token: number): string {
  const special = names.get(token);
  if (special !== undefined) return special;
  return token < 128 ? String.fromCharCode(token) : `<0x${token.toString(16).toUpperCase().padStart(2, '0')}>`;
}
