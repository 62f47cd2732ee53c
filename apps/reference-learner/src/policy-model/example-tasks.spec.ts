import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderPrompt } from './chat-template.ts';
import { choicesFor } from './choices.ts';
import { assignmentOf } from './instruction.ts';
import { editsOf } from './program-edits.ts';

const examples = join(import.meta.dirname, '../../../../examples/tasks');
const names = readdirSync(examples, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** A task as the agent sees it: its public files. */
const seen = (name: string): { instruction: string; path: string; edits: number; lines: string[] } => {
  const instruction = readFileSync(join(examples, name, 'instruction.md'), 'utf8');
  const { path, edits } = assignmentOf(instruction);
  if (path === null) throw new Error(`${name} names no program`);
  const program = readFileSync(join(examples, name, 'environment', basename(path)), 'utf8');
  return { instruction, path, edits, lines: program.replace(/\n$/, '').split('\n') };
};

describe('example tasks', () => {
  it.each(names)('%s leaves the policy a real choice', (name) => {
    const { path, lines, instruction } = seen(name);
    const count = editsOf(path, lines).length;
    expect(count).toBeGreaterThanOrEqual(4);
    expect(count).toBeLessThanOrEqual(9);
    const prompt = renderPrompt({ tools: ['bash'], turns: [{ role: 'user', text: instruction, calls: [] }] });
    expect(choicesFor(prompt).answers).toHaveLength(1);
  });

  it('tell how many problems there are where there are more than one', () => {
    const several = names.filter((name) => seen(name).edits > 1);
    expect(several).toContain('boarding');
    for (const name of several) {
      const numbered = seen(name).instruction.match(/^\d\. /gm)?.length;
      if (numbered !== undefined) expect(seen(name).edits).toBe(numbered);
    }
  });
});
