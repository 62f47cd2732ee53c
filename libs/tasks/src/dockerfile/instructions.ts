/** One instruction: continuation lines joined, comments dropped, here-documents attached. */
export interface Instruction {
  readonly line: number;
  /** Upper case. */
  readonly name: string;
  readonly rest: string;
  readonly heredocs: readonly Heredoc[];
}

export interface Heredoc {
  readonly name: string;
  readonly content: string;
  /** Whether variables are expanded in it (its name was not quoted). */
  readonly expand: boolean;
}

const HEREDOC = /<<(-?)(["']?)([A-Za-z_][A-Za-z0-9_]*)\2/g;

/** Splits a Dockerfile into instructions. Unfinished here-documents end with the file. */
export function splitInstructions(text: string): { instructions: Instruction[]; escape: string } {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  const escape = /^#\s*escape\s*=\s*`/im.test(lines.slice(0, 3).join('\n')) ? '`' : '\\';
  const instructions: Instruction[] = [];
  for (let index = 0; index < lines.length;) {
    const start = index;
    const first = lines[index] ?? '';
    if (/^\s*(#|$)/.test(first)) {
      index += 1;
      continue;
    }
    let joined = '';
    for (;;) {
      const line = lines[index] ?? '';
      index += 1;
      // Comment and empty lines inside a continuation are dropped.
      if (index - 1 > start && /^\s*(#|$)/.test(line)) {
        if (index >= lines.length) break;
        continue;
      }
      const continued = new RegExp(`${escape === '\\' ? '\\\\' : escape}\\s*$`).exec(line);
      joined += continued ? line.slice(0, continued.index) : line;
      if (!continued || index >= lines.length) break;
    }
    const match = /^\s*([A-Za-z]+)\s*([\s\S]*)$/.exec(joined);
    if (!match) {
      instructions.push({ line: start + 1, name: joined.trim().split(/\s/, 1)[0] ?? '', rest: '', heredocs: [] });
      continue;
    }
    const name = (match[1] ?? '').toUpperCase();
    const heredocs: Heredoc[] = [];
    if (name === 'RUN' || name === 'COPY' || name === 'ADD') {
      for (const [, dash, quote, marker] of (match[2] ?? '').matchAll(HEREDOC)) {
        const body: string[] = [];
        for (; index < lines.length; index += 1) {
          const line = dash === '-' ? (lines[index] ?? '').replace(/^\t+/, '') : (lines[index] ?? '');
          if (line === marker) {
            index += 1;
            break;
          }
          body.push(line);
        }
        heredocs.push({
          name: marker ?? '',
          content: body.map((line) => `${line}\n`).join(''),
          expand: quote === '',
        });
      }
    }
    instructions.push({ line: start + 1, name, rest: (match[2] ?? '').trim(), heredocs });
  }
  return { instructions, escape };
}
