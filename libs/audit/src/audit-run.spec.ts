import { decodeEvent, encodeEvent } from '@espalier/avro';
import { describe, expect, it } from 'vitest';
import { auditRun } from './audit-run.ts';
import { completeRun, RUN } from './fixtures/run-scenario.ts';

describe('auditRun', () => {
  it('finds nothing in a complete run and puts every attempt in one class', async () => {
    const { log, bodies } = completeRun();
    const report = await auditRun(log, bodies, RUN, { now: () => log.clock });
    expect(report.findings).toEqual([]);
    expect(report.ok).toBe(true);
    expect(report.ended).toBe(true);
    const counts = Object.fromEntries(report.classes.map((entry) => [entry.class, entry.attempts]));
    expect(counts).toEqual({
      open: 0,
      replaced: 1,
      cancelled: 3,
      failed: 0,
      spare: 1,
      filtered: 5,
      pooled: 0,
      offered: 0,
      trained: 4,
      delivered: 0,
    });
    expect(report.attempts).toBe(14);
    expect(report.bodies_checked).toBe(10);
    expect(report.classes.find((entry) => entry.class === 'filtered')?.by).toEqual({ ZERO_STD: 3, STALE: 2 });
  });

  it('finds nothing at any cut of the log before its end', async () => {
    const { log, bodies } = completeRun();
    const times = [...log.topics.values()].flat(2).map((record) => record.timestamp);
    const [first, last] = [Math.min(...times), Math.max(...times)];
    for (let at = first; at < last; at += 45) {
      const cut = log.copy();
      for (const [topic, partitions] of log.topics)
        cut.topics.set(
          topic,
          partitions.map((records) => records.filter((record) => record.timestamp <= at)),
        );
      const report = await auditRun(cut, bodies, RUN, { now: () => at });
      expect(report.findings, `cut at ${at - first} ms`).toEqual([]);
      expect(report.classes.reduce((sum, entry) => sum + entry.attempts, 0)).toBe(report.attempts);
    }
  });

  it('judges nothing that lies beyond its cut', async () => {
    const { log, bodies } = completeRun();
    const bounds = log.bounds.bind(log);
    let seen = 0;
    // Whatever is written after the end offsets were read is not looked at, however broken it is.
    log.bounds = async (topic) => {
      const answer = await bounds(topic);
      seen += 1;
      if (topic === 'rollout.ended') log.push(topic, 0, { key: RUN, value: Buffer.from('nonsense'), headers: {} });
      return answer;
    };
    const report = await auditRun(log, bodies, RUN, { now: () => log.clock });
    expect(seen).toBeGreaterThan(20);
    expect(report.findings).toEqual([]);
  });

  it('names the place of a record that does not decode', async () => {
    const { log, bodies } = completeRun();
    log.push('reward.reported', 1, { key: `${RUN}/alpha/0`, value: Buffer.from([1, 2, 3]), headers: {} });
    log.push('reward.reported', 1, { key: 'another-run/alpha/0', value: Buffer.from([1, 2, 3]), headers: {} });
    const offset = (log.partitionsOf('reward.reported')[1]?.at(-1)?.offset ?? 0) - 1;
    const report = await auditRun(log, bodies, RUN, { now: () => log.clock });
    expect(report.findings).toMatchObject([
      { code: 'SCHEMA_UNREADABLE', severity: 'violation', place: { topic: 'reward.reported', partition: 1, offset } },
    ]);
  });

  it('accepts that a worker gives back a claim that was not ruled on yet, and no other word of it', async () => {
    const { log, bodies } = completeRun();
    const claim = log.partitionsOf('rollout.reported').flat()[0];
    const first = decodeEvent('rollout.reported', claim?.value ?? Buffer.alloc(0));
    const audited = async (kind: 'RELEASED' | 'PHASE') => {
      const more = log.copy();
      const event = { ...first, event_id: `later-${kind}`, occurred_at: log.clock, kind, epoch: 0 };
      const value = encodeEvent('rollout.reported', event);
      more.push('rollout.reported', claim?.partition ?? 0, { key: claim?.key ?? null, value, headers: {} });
      return (await auditRun(more, bodies, RUN, { now: () => log.clock + 120_000 })).findings.map(({ code }) => code);
    };
    expect(await audited('RELEASED')).toEqual([]);
    expect(await audited('PHASE')).toEqual(['EPOCH_NOT_GRANTED']);
  });

  it('says which body cannot be read', async () => {
    const { log } = completeRun();
    const empty = { get: () => Promise.reject(Object.assign(new Error('gone'), { code: 'OBJECT_MISSING' })) };
    const report = await auditRun(log, empty, RUN, { now: () => log.clock });
    expect(report.findings.map((finding) => finding.code)).toEqual(Array.from({ length: 10 }, () => 'BODY_UNREADABLE'));
  });
});
