import { ModelFrameError } from '../errors.ts';

/** Frame types of the model stream. */
export const frameType = { call: 1, head: 2, data: 3, end: 4, abort: 5, ping: 6, pong: 7 } as const;

/** One frame: `u32 BE payload length, u8 type, u32 BE call number, payload`. */
export interface Frame {
  readonly type: number;
  readonly callNo: number;
  readonly payload: Buffer;
}

const HEADER_BYTES = 9;
/** No frame may be larger: a call's body is bounded by the agent at 64 MiB, and JSON may double it. */
export const MAX_FRAME_BYTES = 160 * 1024 * 1024;

export function encodeFrame(type: number, callNo: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  frame.writeUInt32BE(payload.length, 0);
  frame.writeUInt8(type, 4);
  frame.writeUInt32BE(callNo, 5);
  frame.set(payload, HEADER_BYTES);
  return frame;
}

/** Cuts a byte stream into frames, whatever its chunks. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;

  /** Adds bytes and returns the frames that they complete. Throws {@link ModelFrameError} on an oversized frame. */
  push(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    const frames: Frame[] = [];
    for (;;) {
      if (this.#bytes < HEADER_BYTES) return frames;
      const header = this.#peek(HEADER_BYTES);
      const length = header.readUInt32BE(0);
      if (length > MAX_FRAME_BYTES) throw new ModelFrameError(`model stream: a frame of ${length} bytes is too large`);
      if (this.#bytes < HEADER_BYTES + length) return frames;
      const frame = this.#take(HEADER_BYTES + length);
      frames.push({ type: frame.readUInt8(4), callNo: frame.readUInt32BE(5), payload: frame.subarray(HEADER_BYTES) });
    }
  }

  #peek(count: number): Buffer {
    const first = this.#chunks[0];
    if (first && first.length >= count) return first;
    this.#merge();
    return this.#chunks[0] ?? Buffer.alloc(0);
  }

  #take(count: number): Buffer {
    const first = this.#chunks[0];
    if (!first || first.length < count) this.#merge();
    const all = this.#chunks[0] ?? Buffer.alloc(0);
    const taken = all.subarray(0, count);
    if (all.length === count) this.#chunks.shift();
    else this.#chunks[0] = all.subarray(count);
    this.#bytes -= count;
    return taken;
  }

  #merge(): void {
    this.#chunks = [Buffer.concat(this.#chunks)];
  }
}
