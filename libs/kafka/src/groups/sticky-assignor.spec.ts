import fc from 'fast-check';
import { expect, it } from 'vitest';
import { shareOut } from './sticky-assignor.ts';

const members = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 8 });

it('gives every partition to exactly one member, evenly', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      members,
      fc.array(fc.array(fc.integer({ min: 0, max: 70 }), { maxLength: 20 }), { minLength: 8, maxLength: 8 }),
      (partitions, ids, previous) => {
        const given = shareOut(
          partitions,
          ids.map((memberId, index) => ({ memberId, previous: previous[index] ?? [] })),
        );
        const all = [...given.values()].flat().sort((a, b) => a - b);
        expect(all).toEqual(Array.from({ length: partitions }, (_, partition) => partition));
        const sizes = [...given.values()].map((list) => list.length);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      },
    ),
  );
});

it('leaves partitions where they are when a member comes, but for the share of the new one', () => {
  const before = shareOut(6, [
    { memberId: 'a', previous: [] },
    { memberId: 'b', previous: [] },
  ]);
  const after = shareOut(6, [
    { memberId: 'a', previous: before.get('a') ?? [] },
    { memberId: 'b', previous: before.get('b') ?? [] },
    { memberId: 'c', previous: [] },
  ]);
  for (const member of ['a', 'b'])
    expect(after.get(member)?.every((partition) => before.get(member)?.includes(partition))).toBe(true);
  expect(after.get('c')).toHaveLength(2);
});

it('lets a partition that two members claim go to one of them', () => {
  const given = shareOut(4, [
    { memberId: 'a', previous: [0, 1] },
    { memberId: 'b', previous: [0, 1] },
  ]);
  expect(given.get('a')).toEqual([0, 1]);
  expect(given.get('b')).toEqual([2, 3]);
});
