import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Watermark } from './watermark.ts';

it('never passes an offset that is not done, whatever the order', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(200), { minLength: 1 }), fc.infiniteStream(fc.nat()), (offsets, picks) => {
      const sorted = [...offsets].sort((a, b) => a - b);
      const watermark = new Watermark(0);
      const open = sorted.map((offset) => ({ offset, done: watermark.begin(offset) }));
      watermark.seenTo(300);
      while (open.length > 0) {
        expect(watermark.committable).toBe(open[0]?.offset);
        const [finished] = open.splice((picks.next().value ?? 0) % open.length, 1);
        finished?.done();
        expect(watermark.committable).toBeLessThanOrEqual(open[0]?.offset ?? 300);
      }
      expect(watermark.committable).toBe(300);
    }),
  );
});

it('moves past what is done within a stretch, and past markers behind it', () => {
  const watermark = new Watermark(5);
  const [a, b] = [watermark.begin(5), watermark.begin(8)];
  expect(watermark.committable).toBe(5);
  a();
  expect(watermark.committable).toBe(8);
  b();
  expect(watermark.committable).toBe(9);
  watermark.seenTo(12);
  expect(watermark.committable).toBe(12);
  expect(watermark.underWay).toBe(0);
});
