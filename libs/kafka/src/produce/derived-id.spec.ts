import fc from 'fast-check';
import { v5 } from 'uuid';
import { expect, it } from 'vitest';
import { derivedId } from './derived-id.ts';

it('is the UUIDv5 of the parts as JSON', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer())), (parts) => {
      expect(derivedId(...parts)).toBe(v5(JSON.stringify(parts), '6f1d7a52-0c3b-5f5e-9a77-2f6f1c9ad7e4'));
    }),
  );
});
