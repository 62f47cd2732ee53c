import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { AnswerWalk } from './answer-trie.ts';
import { parsePrompt, renderAnswer, renderPrompt, type Turn } from './chat-template.ts';
import { choicesFor } from './choices.ts';
import { assignmentOf } from './instruction.ts';
import { LogitTable } from './logit-table.ts';
import { editsOf, printCommand, printedLines } from './program-edits.ts';
import { sampleAnswer } from './sampling.ts';
import { tokenName, textOf } from './vocabulary.ts';

const folder = mkdtempSync(join(tmpdir(), 'policy-model-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const after = (path: string, ...lines: string[]): string[] => editsOf(path, lines).map((edit) => edit.after);

describe('edits', () => {
  it('applies each operator to code', () => {
    expect(after('/a.py', 'if a <= b:')).toEqual(['if a < b:']);
    expect(after('/a.py', 'if a > b:')).toEqual(['if a >= b:']);
    expect(after('/a.py', 'if a == b:')).toEqual(['if a != b:']);
    expect(after('/a.py', 'x = a - b')).toEqual(['x = a + b']);
    expect(after('/a.py', 'x = a * b')).toEqual(['x = a / b', 'x = a // b']);
    expect(after('/a.py', 'x = a // b')).toEqual(['x = a * b']);
    expect(after('/a.py', 'x += a')).toEqual(['x -= a']);
    expect(after('/a.py', 'x[7]')).toEqual(['x[8]', 'x[6]']);
    expect(after('/a.py', 'a and True')).toEqual(['a or True', 'a and False']);
    expect(after('/a.py', 'min(a, b)')).toEqual(['max(a, b)']);
    expect(after('/a.py', 'a.lower()')).toEqual(['a.upper()']);
    expect(after('/a.sh', '[ "$a" -lt "$b" ]')).toEqual(['[ "$a" -le "$b" ]']);
    expect(after('/a.sh', 'x=$((a * b))')).toEqual(['x=$((a / b))']);
    expect(after('/a.sh', 'echo "left: $((a - b)) - ok"')).toEqual(['echo "left: $((a + b)) - ok"']);
    expect(after('/a.js', 'a === b && c')).toEqual(['a !== b && c', 'a === b || c']);
  });

  it('leaves comments, strings, arrows, redirections, parameters and floats alone', () => {
    const python = [
      '# a < b',
      'def f(a) -> b:',
      '    """1 + 1',
      '    2 < 3"""',
      '    x = "a and 1"',
      "    y = f'{a} < 2'",
      '    z = 1.5',
    ];
    expect(after('/a.py', ...python)).toEqual([]);
    expect(
      after('/a.sh', '#!/bin/sh', 'sort -n < in > out 2>/dev/null', 'echo "$1 and 2" # 3', "awk '{ print 4 }'"),
    ).toEqual([]);
    expect(after('/a.js', '// 1', '/* 2', '3 */', 'const f = (a) => a;', 'const s = `4 < 5`;')).toEqual([]);
  });

  it('gives commands that make exactly the edit', () => {
    const lines = ["    if a < b and c != 'it''s':  # & | \\ /", 'x = a | b & 7', 'path = \'a/b\' + "c\\n" + d'];
    const path = join(folder, 'program.py');
    const edits = editsOf(path, lines);
    expect(edits.length).toBeGreaterThan(4);
    for (const edit of edits) {
      writeFileSync(path, `${lines.join('\n')}\n`);
      execFileSync('bash', ['-c', edit.command]);
      const expected = lines.with(edit.line - 1, edit.after);
      expect(readFileSync(path, 'utf8')).toBe(`${expected.join('\n')}\n`);
    }
    const printed = execFileSync('bash', ['-c', printCommand(path)]).toString();
    expect(printedLines(`${printed}[exit code: 0]`)).toHaveLength(lines.length);
  });

  it('reads the instruction', () => {
    expect(assignmentOf('Repair /app/prices.py.')).toEqual({ path: '/app/prices.py', edits: 1 });
    expect(assignmentOf('There are two small bugs in `/srv/run-all.sh`')).toEqual({
      path: '/srv/run-all.sh',
      edits: 2,
    });
    expect(assignmentOf('Say hello')).toEqual({ path: null, edits: 1 });
  });
});

describe('chat template', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 20 });
  const turn: fc.Arbitrary<Turn> = fc.oneof(
    fc.record({ role: fc.constantFrom<Turn['role']>('system', 'user', 'tool'), text, calls: fc.constant([]) }),
    fc.record({
      role: fc.constant<Turn['role']>('assistant'),
      text,
      calls: fc.array(fc.record({ name: fc.constantFrom('bash', 'python'), arguments: fc.json() }), { maxLength: 2 }),
    }),
  );

  it('gives a prompt that begins with the prompt before and its answer', () => {
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 6 }), turn, turn, (turns, answer, reply) => {
        const tools = ['bash'];
        const before = renderPrompt({ tools, turns });
        const assistant: Turn = { ...answer, role: 'assistant' };
        const next = renderPrompt({ tools, turns: [...turns, assistant, reply] });
        const extended = [...before, ...renderAnswer(assistant)];
        expect(next.slice(0, extended.length)).toEqual(extended);
      }),
    );
  });

  it('reads back what it rendered, and one spelling of arguments from many', () => {
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 6 }), (turns) => {
        const prompt = renderPrompt({ tools: ['bash'], turns });
        expect(renderPrompt(parsePrompt(prompt))).toEqual(prompt);
      }),
    );
    const call = (args: string): number[] => renderAnswer({ text: '', calls: [{ name: 'bash', arguments: args }] });
    expect(call('{ "command": "a \\u003c b" }')).toEqual(call('{"command":"a < b"}'));
  });
});

describe('policy', () => {
  const program = 'def f(a, b):\n    if a < b:\n        return a + b\n    return min(a, b)\n';
  const printed = program
    .trimEnd()
    .split('\n')
    .map((line, at) => `     ${at + 1}\t${line}\n`)
    .join('');
  const turns = (...more: Turn[]): Turn[] => [
    { role: 'system', text: 'You work in a sandbox.', calls: [] },
    { role: 'user', text: 'The file /app/f.py has two bugs.', calls: [] },
    ...more,
  ];
  const called = (command: string, output: string): Turn[] => [
    { role: 'assistant', text: '', calls: [{ name: 'bash', arguments: JSON.stringify({ command }) }] },
    { role: 'tool', text: output, calls: [] },
  ];
  const answers = (...more: Turn[]): string[] =>
    choicesFor(renderPrompt({ tools: ['bash'], turns: turns(...more) })).answers.map((one) => textOf(one));

  it('prints the program, makes as many edits as problems are told, and stops', () => {
    expect(answers()).toEqual(['bash{"command":"cat -n /app/f.py"}']);
    const seen = called('cat -n /app/f.py', `${printed}[exit code: 0]`);
    const first = answers(...seen);
    expect(first).toHaveLength(3);
    const [choice] = editsOf('/app/f.py', program.trimEnd().split('\n'));
    const edited = [...seen, ...called(choice?.command ?? '', '[exit code: 0]')];
    expect(answers(...edited)).toHaveLength(2);
    const second = editsOf('/app/f.py', program.trimEnd().split('\n'))[1];
    expect(answers(...edited, ...called(second?.command ?? '', ''))).toEqual([
      'I edited /app/f.py; it should work now.',
    ]);
  });

  it('says so where it cannot act', () => {
    expect(answers(...called('cat -n /app/f.py', 'cat: /app/f.py: No such file\n[exit code: 1]'))).toEqual([
      'I see nothing in /app/f.py that I know how to change.',
    ]);
    const toolless = choicesFor(renderPrompt({ tools: [], turns: turns() })).answers;
    expect(toolless.map((one) => textOf(one))).toEqual(['I cannot work on this without a tool.']);
  });

  it('is uniform over its answers before learning, and its log-probs add up', () => {
    const prompt = renderPrompt({ tools: ['bash'], turns: turns(...called('cat -n /app/f.py', printed)) });
    const choices = choicesFor(prompt);
    for (const answer of choices.answers) {
      const walk = new AnswerWalk(choices);
      let sum = 0;
      for (const token of answer) {
        const next = walk.next(new LogitTable());
        expect(next.reduce((total, { logprob }) => total + Math.exp(logprob), 0)).toBeCloseTo(1, 12);
        sum += next.find((one) => one.token === token)?.logprob ?? Number.NaN;
        walk.say(token);
      }
      expect(sum).toBeCloseTo(-Math.log(choices.answers.length), 10);
      expect(walk.next(new LogitTable())).toEqual([]);
    }
  });

  it('repeats exactly for a seed, obeys the temperature and the most tokens', () => {
    const prompt = renderPrompt({ tools: ['bash'], turns: turns(...called('cat -n /app/f.py', printed)) });
    const table = new LogitTable();
    const sample = (seed: number, temperature = 1, maxTokens = 500) =>
      sampleAnswer(prompt, table, { seed, temperature, maxTokens });
    expect(sample(5)).toEqual(sample(5));
    const kinds = new Set(
      Array.from({ length: 60 }, (_, seed) => textOf(sample(seed).tokens.map(({ token }) => token))),
    );
    expect(kinds.size).toBe(3);
    const greedy = new Set(
      Array.from({ length: 20 }, (_, seed) => textOf(sample(seed, 0).tokens.map(({ token }) => token))),
    );
    expect(greedy.size).toBe(1);
    expect(sample(1, 1, 10)).toMatchObject({ complete: false });
    expect(sample(1, 1, 10).tokens).toHaveLength(10);
  });

  it('names tokens', () => {
    expect([65, 10, 200, 261].map(tokenName)).toEqual(['A', '\n', '<0xC8>', '<|call|>']);
  });
});
