import { describe, expect, it } from 'vitest';
import { shuffled } from './controls.ts';

const samples = Array.from({ length: 12 }, (_, index) => ({
  sample_id: `s${index}`,
  trajectory_id: `t${Math.floor(index / 2)}`,
  token_ids: new Int32Array(),
  logprobs: new Float32Array(),
  mask_runs: [],
  advantage: Math.floor(index / 2),
}));

describe('shuffled rewards', () => {
  it('exchanges advantages among trajectories, whole, by the seed alone', () => {
    const mixed = shuffled(samples, 'batch');
    const sorted = (of: typeof samples): number[] => of.map(({ advantage }) => advantage).sort((a, b) => a - b);
    expect(sorted(mixed)).toEqual(sorted(samples));
    for (let at = 0; at < mixed.length; at += 2) expect(mixed[at]?.advantage).toBe(mixed[at + 1]?.advantage);
    expect(mixed.map(({ advantage }) => advantage)).not.toEqual(samples.map(({ advantage }) => advantage));
    expect(shuffled(samples, 'batch')).toEqual(mixed);
    expect(shuffled(samples, 'another')).not.toEqual(mixed);
  });
});
