import type { RawRecord } from '@espalier/kafka';
import { describe, expect, it } from 'vitest';
import { undecodableRecorded } from './rollout-worker.ts';

const record = (headers: Record<string, string>, key: string | null): RawRecord => ({
  topic: 'espalier.rollout.requested.v1',
  partition: 2,
  offset: 9,
  key: key === null ? null : Buffer.from(key),
  value: Buffer.from('poison'),
  headers,
  timestamp: 0,
});

describe('undecodableRecorded', () => {
  it('ends the attempt that the headers, or the key, name', () => {
    const attempt = 'run/task/3/r1/a2';
    for (const dead of [record({ 'x-attempt-id': attempt }, null), record({}, attempt)]) {
      expect(undecodableRecorded(dead, new Error('bad bytes'), 'w')).toMatchObject({
        run_id: 'run',
        group_id: 'run/task/3',
        rollout_id: 'run/task/3/r1',
        attempt_id: attempt,
        epoch: 0,
        status: 'FAILED',
        failure: { class: 'INFRA', code: 'REQUEST_UNDECODABLE' },
      });
    }
  });

  it('gives up on damaged ids', () => {
    expect(undecodableRecorded(record({}, null), new Error('x'), 'w')).toBeNull();
    expect(undecodableRecorded(record({}, 'run/task/3'), new Error('x'), 'w')).toBeNull();
  });
});
