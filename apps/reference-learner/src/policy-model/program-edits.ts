import { languageOf, spansOf } from './code-spans.ts';
import { replacementsIn } from './operators.ts';

/** A single-line edit of a program file. */
export interface Edit {
  /** Line number from 1. */
  readonly line: number;
  readonly before: string;
  readonly after: string;
  /** The command that makes it. */
  readonly command: string;
}

/** All edits that the operators allow, by line, then operator, then column; none twice. */
export function editsOf(path: string, lines: readonly string[]): Edit[] {
  const language = languageOf(path);
  const spans = spansOf(lines.join('\n'), language);
  const edits = new Map<string, Edit>();
  let start = 0;
  for (const [index, line] of lines.entries()) {
    for (const { column, length, text } of replacementsIn(line, spans.slice(start, start + line.length), language)) {
      const after = line.slice(0, column) + text + line.slice(column + length);
      const command = editCommand(path, index + 1, after);
      edits.set(command, { line: index + 1, before: line, after, command });
    }
    start += line.length + 1;
  }
  return [...edits.values()];
}

/** The `sed` command that replaces one line. */
export function editCommand(path: string, line: number, text: string): string {
  const replacement = text.replace(/[\\&|]/g, String.raw`\$&`).replaceAll("'", String.raw`'\''`);
  return `sed -i '${line}s|.*|${replacement}|' ${path}`;
}

/** The command that prints a program with line numbers. */
export const printCommand = (path: string): string => `cat -n ${path}`;

/** Lines out of what {@link printCommand} printed; other lines around them are ignored. */
export function printedLines(output: string): string[] {
  const lines: string[] = [];
  for (const row of output.split('\n')) {
    const match = /^ *(\d+)\t(.*)$/.exec(row);
    if (match && Number(match[1]) === lines.length + 1) lines.push(match[2] ?? '');
  }
  return lines;
}
