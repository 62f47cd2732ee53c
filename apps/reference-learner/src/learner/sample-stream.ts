import { decodeBody } from '@espalier/avro';
import type { BatchSample } from '@espalier/contracts';
import { BadAnswerError } from './errors.ts';

/** Reads concatenated records: u32 big-endian length, then one single-object Avro BatchSample. */
export function decodeSamples(bytes: Buffer): BatchSample[] {
  const samples: BatchSample[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = at + 4 <= bytes.length ? bytes.readUInt32BE(at) : Number.NaN;
    const end = at + 4 + length;
    if (!(end <= bytes.length)) throw new BadAnswerError(`samples end in the middle of record ${samples.length}`);
    samples.push(decodeBody('batch.samples', bytes.subarray(at + 4, end)));
    at = end;
  }
  return samples;
}
