import { isMap, isPair, isScalar, LineCounter, type Document } from 'yaml';
import type { core } from 'zod';

/** Something wrong in a run file. */
export interface FileProblem {
  /** Dotted path, e.g. `group.size`; empty for the file as a whole. */
  readonly key: string;
  /** From 1; null where it cannot be told. */
  readonly line: number | null;
  readonly message: string;
}

/** What zod complains about, with the place in the YAML text. */
export function problemsOf(issues: readonly core.$ZodIssue[], document: Document, lines: LineCounter): FileProblem[] {
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((name) => ({
        key: [...issue.path, name].join('.'),
        line: lineOf([...issue.path, name], document, lines),
        message: 'is not known here',
      }));
    if (issue.code === 'invalid_union') return unionProblems(issue, document, lines);
    const key = issue.path.join('.');
    return [{ key, line: lineOf(issue.path, document, lines), message: messageOf(issue) }];
  });
}

/** Of the forms a value may have, the one that it resembles most: the one with the fewest complaints below its own level. */
function unionProblems(issue: core.$ZodIssueInvalidUnion, document: Document, lines: LineCounter): FileProblem[] {
  const below = (issues: readonly core.$ZodIssue[]): boolean =>
    issues.every((inner) => inner.path.length > 0 || inner.code === 'unrecognized_keys');
  const nearest = issue.errors.find((issues) => issues.length > 0 && below(issues));
  if (!nearest) {
    const messages = issue.errors.flatMap((issues) => issues.map(messageOf));
    return [
      {
        key: issue.path.join('.'),
        line: lineOf(issue.path, document, lines),
        message: [...new Set(messages)].join(', or '),
      },
    ];
  }
  const placed = nearest.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
  return problemsOf(placed, document, lines);
}

const messageOf = (issue: core.$ZodIssue): string => {
  if (issue.code === 'invalid_type' && issue.input === undefined && /received undefined/.test(issue.message))
    return 'is missing';
  return issue.message.replace(/^Invalid input: /, '').replace(/^expected/, 'must be');
};

/** Line of the key at `path`, or of the nearest one above it that is there. */
function lineOf(path: readonly PropertyKey[], document: Document, lines: LineCounter): number | null {
  for (let length = path.length; length > 0; length -= 1) {
    const parent = document.getIn(path.slice(0, length - 1), true) ?? document.contents;
    const name = path[length - 1];
    const offset = isMap(parent)
      ? parent.items.flatMap((pair) => {
          const key = isPair(pair) && isScalar(pair.key) ? pair.key : undefined;
          return key?.value === name && key?.range ? [key.range[0]] : [];
        })[0]
      : (document.getIn(path.slice(0, length), true) as { range?: readonly number[] | null } | undefined)?.range?.[0];
    if (offset !== undefined) return lines.linePos(offset).line;
  }
  return null;
}
