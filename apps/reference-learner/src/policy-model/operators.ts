import type { Language, Span } from './code-spans.ts';

/** A replacement inside one line. */
export interface Replacement {
  readonly column: number;
  readonly length: number;
  readonly text: string;
}

interface Operator {
  /** What it matches; the whole match is replaced. */
  readonly pattern: RegExp;
  readonly languages: readonly Language[];
  /** Where it applies in shell: conditions live in code, sums in arithmetic. */
  readonly shell?: 'arithmetic' | 'code' | 'both';
  readonly alternatives: (match: string, language: Language) => readonly string[];
}

const everywhere: readonly Language[] = ['python', 'shell', 'braces'];

const swap = (...pairs: readonly (readonly [string, string])[]): ((match: string) => readonly string[]) => {
  const table = new Map(pairs.flatMap(([a, b]) => [[a, b] as const, [b, a] as const]));
  return (match) => {
    const other = table.get(match);
    return other === undefined ? [] : [other];
  };
};

/** Between operands: something ends before it and something begins after it, spaces alike on both sides or none. */
const binary = (signs: string): RegExp =>
  new RegExp(String.raw`(?:(?<=[\w)\]'"}] )(?:${signs})(?= )|(?<=[\w)\]}])(?:${signs})(?=[\w($]))`, 'g');

/** The edit operators O1-O7, in the order in which their edits are listed. Each names what it may turn into what. */
const operators: readonly Operator[] = [
  // O1 comparisons.
  {
    pattern: /(?<![<>=!-])(?:<=|>=)(?![=>])|(?<=\s)[<>](?=\s)/g,
    languages: everywhere,
    shell: 'arithmetic',
    alternatives: swap(['<', '<='], ['>', '>=']),
  },
  {
    pattern: /(?<![=!<>])[=!]==?(?!=)/g,
    languages: everywhere,
    shell: 'both',
    alternatives: swap(['==', '!='], ['===', '!==']),
  },
  // O2 arithmetic, also as an assignment.
  { pattern: binary(String.raw`\+|-`), languages: everywhere, shell: 'arithmetic', alternatives: swap(['+', '-']) },
  { pattern: /(?<= )[+-]=(?=\s)/g, languages: everywhere, shell: 'arithmetic', alternatives: swap(['+=', '-=']) },
  {
    pattern: binary(String.raw`\*|\/\/?`),
    languages: everywhere,
    shell: 'arithmetic',
    alternatives: (match, language) => (match === '*' ? (language === 'python' ? ['/', '//'] : ['/']) : ['*']),
  },
  {
    pattern: /(?<= )(?:\*|\/\/?)=(?=\s)/g,
    languages: everywhere,
    shell: 'arithmetic',
    alternatives: (match, language) => (match === '*=' ? (language === 'python' ? ['/=', '//='] : ['/=']) : ['*=']),
  },
  // O3 integer literals, one up and one down; no floats, no leading zeros, no file descriptors or parameters.
  {
    pattern: /(?<![\w.$#&>{])(?:0|[1-9]\d*)(?![\w.]|[<>](?![ =]))/g,
    languages: everywhere,
    shell: 'both',
    alternatives: (match) => [String(Number(match) + 1), String(Number(match) - 1)],
  },
  // O4 logic.
  {
    pattern: /\b(?:and|or|True|False)\b/g,
    languages: ['python'],
    alternatives: swap(['and', 'or'], ['True', 'False']),
  },
  {
    pattern: /&&|\|\||\b(?:true|false)\b/g,
    languages: ['braces', 'shell'],
    shell: 'both',
    alternatives: swap(['&&', '||'], ['true', 'false']),
  },
  // O5 extremes.
  { pattern: /\b(?:min|max)(?=\()/g, languages: everywhere, shell: 'code', alternatives: swap(['min', 'max']) },
  // O6 shell tests.
  {
    pattern: /(?<=\s)-(?:lt|le|gt|ge|eq|ne)(?=\s)/g,
    languages: ['shell'],
    shell: 'code',
    alternatives: swap(['-lt', '-le'], ['-gt', '-ge'], ['-eq', '-ne']),
  },
  // O7 case.
  {
    pattern: /\.(?:lower|upper)\(\)/g,
    languages: ['python', 'braces'],
    alternatives: swap(['.lower()', '.upper()']),
  },
];

/** Every replacement that an operator may make in a line, by operator, then by column. */
export function replacementsIn(line: string, spans: readonly Span[], language: Language): Replacement[] {
  return operators
    .filter(({ languages }) => languages.includes(language))
    .flatMap((operator) =>
      [...line.matchAll(operator.pattern)].flatMap((match) => {
        const span = spans[match.index];
        const same = spans.slice(match.index, match.index + match[0].length).every((one) => one === span);
        if (!same || !allows(operator, span, language)) return [];
        return operator
          .alternatives(match[0], language)
          .map((text) => ({ column: match.index, length: match[0].length, text }));
      }),
    );
}

function allows(operator: Operator, span: Span | undefined, language: Language): boolean {
  if (span === undefined || span === 'none') return false;
  if (language !== 'shell') return span === 'code';
  return operator.shell === 'both' || operator.shell === span;
}
