import { encodeBody } from '@espalier/avro';
import type { BatchSampleDraft } from '@espalier/contracts';
import { Packr } from 'msgpackr';

/** A form in which a batch's samples are delivered. */
export type SampleFormat = 'avro' | 'msgpack' | 'jsonl';

export const SAMPLE_FORMATS: readonly SampleFormat[] = ['avro', 'msgpack', 'jsonl'];

export const contentTypeOf: Readonly<Record<SampleFormat, string>> = {
  avro: 'application/vnd.espalier.samples+avro',
  msgpack: 'application/vnd.espalier.samples+msgpack',
  jsonl: 'application/x-ndjson',
};

const packr = new Packr({ useRecords: false, variableMapSize: true });

const packed = (array: Int32Array | Float32Array): Buffer =>
  Buffer.from(array.buffer, array.byteOffset, array.byteLength);

function framed(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/**
 * One sample in `format`. avro and msgpack: u32 big-endian length, then the record (single-object Avro, or a map whose
 * `token_ids` and `logprobs` are little-endian int32 and float32 bytes). jsonl: one object a line, arrays of numbers.
 */
export function encodeSample(sample: BatchSampleDraft, format: SampleFormat): Buffer {
  switch (format) {
    case 'avro':
      return framed(encodeBody('batch.samples', sample));
    case 'msgpack':
      return framed(packr.pack({ ...sample, token_ids: packed(sample.token_ids), logprobs: packed(sample.logprobs) }));
    case 'jsonl':
      return Buffer.from(
        `${JSON.stringify({ ...sample, token_ids: [...sample.token_ids], logprobs: [...sample.logprobs] })}\n`,
      );
    default:
      return format satisfies never;
  }
}
