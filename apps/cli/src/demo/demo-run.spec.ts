import { describe, expect, it } from 'vitest';
import type { RunSummary } from '../log-reading/read-topic.ts';
import { nextOfSeries } from './demo-run.ts';

const run = (run_id: string, ended: boolean, state = 'ACTIVE'): RunSummary => ({
  ...{ run_id, ended, state, submitted_at: 1, submitted_by: 'me', purpose: 'TRAIN' },
  ...{ attempts_ended: 0, batches_trained: 0, pass_rate: null, message: '' },
});

describe('nextOfSeries', () => {
  it('begins with one', () => {
    expect(nextOfSeries('demo', [run('other-7', false)])).toEqual({ runId: 'demo-1', resumed: false });
  });

  it('takes up the newest run that has not ended', () => {
    const runs = [run('demo-1', true), run('demo-10', false), run('demo-9', true)];
    expect(nextOfSeries('demo', runs)).toEqual({ runId: 'demo-10', resumed: true });
  });

  it('begins a new one after a finished one, by number and not by name', () => {
    expect(nextOfSeries('demo', [run('demo-9', false), run('demo-10', true)])).toEqual({
      runId: 'demo-11',
      resumed: false,
    });
  });

  it('passes over what is not of the series, and what was refused', () => {
    const runs = [run('demo-x', false), run('demo-2', false, 'REFUSED'), run('demo', false)];
    expect(nextOfSeries('demo', runs)).toEqual({ runId: 'demo-1', resumed: false });
  });
});
