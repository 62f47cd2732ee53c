import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { auditRun } from './audit-run.ts';
import { completeRun, RUN } from './fixtures/run-scenario.ts';
import { CUT_ORDER } from './log/cut.ts';

describe('a cut of a run under way', () => {
  it('breaks no promise, however much later the upstream end offsets were read', async () => {
    const { log, bodies } = completeRun();
    const times = [...log.topics.values()].flat(2).map((record) => record.timestamp);
    const [first, last] = [Math.min(...times), Math.max(...times)];
    const moments = fc
      .array(fc.integer({ min: first, max: last }), { minLength: CUT_ORDER.length, maxLength: CUT_ORDER.length })
      .map((picked) => picked.sort((left, right) => left - right));
    await fc.assert(
      fc.asyncProperty(moments, async (cuts) => {
        const seen = log.copy();
        for (const [index, topic] of CUT_ORDER.entries()) {
          const until = cuts[index] ?? last;
          const kept = log.partitionsOf(topic).map((records) => records.filter(({ timestamp }) => timestamp <= until));
          seen.topics.set(topic, kept);
        }
        const report = await auditRun(seen, bodies, RUN, { now: () => cuts[0] ?? first });
        expect(report.findings.filter(({ severity }) => severity === 'violation')).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });
});
