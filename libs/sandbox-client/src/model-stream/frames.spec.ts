import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ModelFrameError } from '../errors.ts';
import { encodeFrame, FrameReader, frameType } from './frames.ts';

const frames = fc.array(
  fc.record({
    type: fc.constantFrom(...Object.values(frameType)),
    callNo: fc.nat({ max: 0xffff_ffff }),
    payload: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  }),
  { maxLength: 12 },
);

describe('FrameReader', () => {
  it('gives the frames that were written, however the bytes arrive', () => {
    fc.assert(
      fc.property(frames, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (written, cuts) => {
        const bytes = Buffer.concat(written.map(({ type, callNo, payload }) => encodeFrame(type, callNo, payload)));
        const reader = new FrameReader();
        const read = [];
        for (let at = 0, cut = 0; at < bytes.length; cut += 1) {
          const length = cuts[cut % cuts.length] ?? 1;
          read.push(...reader.push(bytes.subarray(at, at + length)));
          at += length;
        }
        expect(read).toEqual(written);
      }),
    );
  });

  it('refuses a frame that no peer would send', () => {
    expect(() => new FrameReader().push(Buffer.from([0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 1]))).toThrow(ModelFrameError);
  });
});
