import { decodeBody } from '@espalier/avro';
import { unpack } from 'msgpackr';
import { expect, it } from 'vitest';
import { encodeSample } from './sample-formats.ts';

const sample = {
  batch_id: 'r/batch/1',
  seq: 1,
  sample_id: 'r/t/0/r0/a0/t/s0',
  trajectory_id: 'r/t/0/r0/a0/t',
  group_id: 'r/t/0',
  task_id: 't',
  reward: 1,
  advantage: 0.5,
  token_ids: new Int32Array([10, 11, 12]),
  logprobs: new Float32Array([0, -0.5, -0.25]),
  mask_runs: [1, 2],
  version_runs: [{ version: 3, length: 2 }],
};

it('delivers the same sample in every format', () => {
  const avro = encodeSample(sample, 'avro');
  expect(avro.readUInt32BE(0)).toBe(avro.length - 4);
  const decoded = decodeBody('batch.samples', avro.subarray(4));
  expect([...decoded.token_ids]).toEqual([10, 11, 12]);
  const line = JSON.parse(encodeSample(sample, 'jsonl').toString()) as typeof sample;
  expect(line.logprobs).toEqual([0, -0.5, -0.25]);
  const packed = encodeSample(sample, 'msgpack');
  const map = unpack(packed.subarray(4)) as { token_ids: Buffer; advantage: number };
  expect(map.token_ids.readInt32LE(8)).toBe(12);
  expect(map.advantage).toBe(0.5);
});
