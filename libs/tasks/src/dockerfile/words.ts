/** Expands `$NAME`, `${NAME}`, `${NAME:-word}` and `${NAME:+word}` outside of single quotes. */
export function expand(text: string, variables: Readonly<Record<string, string>>, escape = '\\'): string {
  let out = '';
  let single = false;
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index] ?? '';
    if (char === "'") single = !single;
    if (char === escape && !single) {
      // An escaped dollar is a dollar; every other escape is for the splitting of words.
      out += text[index + 1] === '$' ? '$' : char + (text[index + 1] ?? '');
      index += 1;
      continue;
    }
    if (char !== '$' || single) {
      out += char;
      continue;
    }
    const rest = text.slice(index + 1);
    const braced = /^\{([A-Za-z_][A-Za-z0-9_]*)(?:(:[-+])((?:[^{}]|\{[^}]*\})*))?\}/.exec(rest);
    const plain = /^[A-Za-z_][A-Za-z0-9_]*/.exec(rest);
    if (braced) {
      const value = variables[braced[1] ?? ''] ?? '';
      const word = (): string => expand(braced[3] ?? '', variables, escape);
      out += braced[2] === ':-' ? value || word() : braced[2] === ':+' ? (value === '' ? '' : word()) : value;
      index += braced[0].length;
    } else if (plain) {
      out += variables[plain[0]] ?? '';
      index += plain[0].length;
    } else out += char;
  }
  return out;
}

/** Splits at white space, honouring quotes and escapes, which are removed. */
export function splitWords(text: string, escape = '\\'): string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote = '';
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index] ?? '';
    if (quote !== '') {
      if (char === quote) quote = '';
      else if (char === escape && quote === '"' && index + 1 < text.length) {
        index += 1;
        word = (word ?? '') + (text[index] ?? '');
      } else word = (word ?? '') + char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= '';
    } else if (char === escape && index + 1 < text.length) {
      index += 1;
      word = (word ?? '') + (text[index] ?? '');
    } else if (/\s/.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? '') + char;
  }
  if (word !== null) words.push(word);
  return words;
}

/** A JSON array of strings, as in exec forms; null for anything else. */
export function jsonWords(text: string): string[] | null {
  if (!text.startsWith('[')) return null;
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) && parsed.every((word) => typeof word === 'string') ? parsed : null;
  } catch {
    return null;
  }
}

/** Leading `--name=value` words and what follows them. */
export function takeFlags(text: string): { flags: ReadonlyMap<string, string>; rest: string } {
  const flags = new Map<string, string>();
  let rest = text;
  for (;;) {
    const match = /^--([a-z-]+)(?:=("[^"]*"|\S*))?\s*/.exec(rest);
    if (!match) return { flags, rest };
    flags.set(match[1] ?? '', (match[2] ?? '').replace(/^"(.*)"$/, '$1'));
    rest = rest.slice(match[0].length);
  }
}
