/** How a program file is read. */
export type Language = 'python' | 'shell' | 'braces';

/** The language of a path, by its ending. */
export function languageOf(path: string): Language {
  if (path.endsWith('.py')) return 'python';
  return /\.(?:js|mjs|cjs|ts|go|java|c|cc|cpp|rs)$/.test(path) ? 'braces' : 'shell';
}

/** What a character belongs to: code, shell arithmetic, or nothing an edit may touch (comment, string). */
export type Span = 'code' | 'arithmetic' | 'none';

/**
 * Classifies every character of a program: comments, docstrings and string literals are `none`; in shell, `$(( ))` and
 * `(( ))` are `arithmetic`, also inside double quotes. A scanner, not a parser: good for small, plainly written files.
 */
export function spansOf(text: string, language: Language): Span[] {
  switch (language) {
    case 'python':
      return scan(
        text,
        /^(?:#[^\n]*|[rbfuRBFU]{0,2}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))/,
      );
    case 'braces':
      return scan(
        text,
        /^(?:\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`(?:\\[^]|[^`\\])*`?)/,
      );
    case 'shell':
      return scanShell(text);
  }
}

function scan(text: string, opaque: RegExp): Span[] {
  const spans: Span[] = [];
  while (spans.length < text.length) {
    const before = text[spans.length - 1] ?? '\n';
    const match = /[\w]/.test(before) ? null : opaque.exec(text.slice(spans.length));
    if (match && match[0].length > 0) for (const _ of match[0].split('')) spans.push('none');
    else {
      const quoted = opaque.exec(text.slice(spans.length));
      // After a word only a quote or a comment opens something opaque, never a string prefix.
      if (quoted && /^["'`#/]/.test(quoted[0])) for (const _ of quoted[0].split('')) spans.push('none');
      else spans.push('code');
    }
  }
  return spans;
}

function scanShell(text: string): Span[] {
  const spans: Span[] = [];
  // Innermost last: a double-quoted string, a command substitution, arithmetic.
  const open: ('quote' | 'command' | 'arithmetic')[] = [];
  const mark = (length: number, span: Span): void => {
    for (let count = 0; count < length; count++) spans.push(span);
  };
  while (spans.length < text.length) {
    const rest = text.slice(spans.length);
    const inside = open.at(-1);
    const before = text[spans.length - 1] ?? '\n';
    const raw = /^(?:#[^\n]*)/.exec(rest);
    const single = /^'[^']*'?/.exec(rest);
    if (rest.startsWith('$((')) {
      open.push('arithmetic');
      mark(3, 'none');
    } else if (inside === 'arithmetic') {
      if (rest.startsWith('))')) {
        open.pop();
        mark(2, 'none');
      } else mark(1, 'arithmetic');
    } else if (rest.startsWith('$(')) {
      open.push('command');
      mark(2, 'none');
    } else if (rest.startsWith('\\')) mark(Math.min(2, rest.length), 'none');
    else if (rest.startsWith('"')) {
      if (inside === 'quote') open.pop();
      else open.push('quote');
      mark(1, 'none');
    } else if (inside === 'quote') mark(1, 'none');
    else if (single) mark(single[0].length, 'none');
    else if (raw && /[\s;(]/.test(before)) mark(raw[0].length, 'none');
    else if (rest.startsWith('((')) {
      open.push('arithmetic');
      mark(2, 'none');
    } else if (inside === 'command' && rest.startsWith(')')) {
      open.pop();
      mark(1, 'none');
    } else mark(1, 'code');
  }
  return spans;
}
