import { describe, expect, it } from 'vitest';
import { duration, size } from './format.ts';
import { table } from './table.ts';

describe('table', () => {
  it('aligns words to the left, numbers to the right, and shows what is not there', () => {
    const rows = [
      { name: 'a', count: 5, note: null },
      { name: 'long', count: 123, note: 'x' },
    ];
    expect(
      table(rows, [
        ['name', (row) => row.name],
        ['n', (row) => row.count],
        ['note', (row) => row.note],
      ]),
    ).toEqual(['name    n  note', 'a       5  -', 'long  123  x']);
  });
});

describe('formats', () => {
  it.each([
    [850, '850 ms'],
    [59_400, '59 s'],
    [61_000, '1 min 01 s'],
    [3_900_000, '1 h 05 min'],
  ])('writes %i ms as %s', (ms, text) => expect(duration(ms)).toBe(text));

  it.each([
    [512, '512 B'],
    [2_048, '2.0 KiB'],
    [5 * 1024 ** 3, '5.0 GiB'],
  ])('writes %i bytes as %s', (bytes, text) => expect(size(bytes)).toBe(text));
});
