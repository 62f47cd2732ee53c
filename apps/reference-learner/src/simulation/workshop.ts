import { editsOf } from '../policy-model/program-edits.ts';
import type { SimulatedTask } from './simulate.ts';

/** A small program with one wrong line. */
interface Piece {
  readonly name: string;
  readonly path: string;
  readonly broken: string;
  /** The wrong line as it should be. */
  readonly repaired: string;
}

const pieces: readonly Piece[] = [
  {
    name: 'prices',
    path: '/app/prices.py',
    broken: 'def total(price, count):\n    if count > 10:\n        return price / count\n    return price\n',
    repaired: '        return price * count',
  },
  {
    name: 'passes',
    path: '/app/passes.py',
    broken:
      'def passes(score, limit):\n    """Whether score reaches limit (>=)."""\n    return score > limit and score < 101\n',
    repaired: '    return score >= limit and score < 101',
  },
  {
    name: 'window',
    path: '/app/window.py',
    broken: 'def last(items, count):\n    start = len(items) + count\n    return items[max(start, 0):]\n',
    repaired: '    start = len(items) - count',
  },
  {
    name: 'backup',
    path: '/app/backup.sh',
    broken:
      '#!/bin/sh\n# keeps the newest\ncount=$(ls | wc -l)\nif [ "$count" -lt "$KEEP" ]; then\n  echo full && exit 1\nfi\n',
    repaired: 'if [ "$count" -le "$KEEP" ]; then',
  },
  {
    name: 'clamp',
    path: '/app/clamp.py',
    broken: 'def clamp(value, low, high):\n    return max(low, max(value, high)) + 0\n',
    repaired: '    return max(low, min(value, high)) + 0',
  },
  {
    name: 'names',
    path: '/app/names.py',
    broken: 'def same(a, b):\n    return a.lower() == b.lower() or a != b\n',
    repaired: '    return a.lower() == b.lower() and a != b',
  },
  {
    name: 'leap',
    path: '/app/leap.py',
    broken: 'def leap(year):\n    return not year % 4 and bool(year % 101)\n',
    repaired: '    return not year % 4 and bool(year % 100)',
  },
  {
    name: 'ready',
    path: '/app/ready.js',
    broken:
      'export function ready(queue, limit) {\n  // full is not ready\n  return queue.open || queue.size < limit;\n}\nexport const retries = 3;\n',
    repaired: '  return queue.open && queue.size < limit;',
  },
];

const instructionFor = (path: string): string => `The program ${path} has one bug. Find it and repair it in place.`;

/** The same tasks for every simulation: each offers the edits that the operators allow, one of which is right. */
export const workshop: readonly SimulatedTask[] = pieces.map(({ name, path, broken, repaired }) => {
  const right = editsOf(path, broken.replace(/\n$/, '').split('\n')).filter(({ after }) => after === repaired);
  return {
    name,
    instruction: instructionFor(path),
    path,
    program: broken,
    passes: (commands) => commands.length === 1 && right.some(({ command }) => command === commands[0]),
  };
});

/** How many edits a task's first look offers. */
export const choicesOf = (task: SimulatedTask): number =>
  editsOf(task.path, task.program.replace(/\n$/, '').split('\n')).length;
