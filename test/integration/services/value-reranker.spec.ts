import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { RankingDecided } from '@espalier/contracts';
import { openKafka, type KafkaPort } from '@espalier/kafka';
import { bootstrapService, type RunningService } from '@espalier/nest';
import { runConfig, trajectoryCounts } from '@espalier/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { hash32 } from '../../../apps/value-reranker/src/features/hashing.ts';
import type { RankingReport } from '../../../apps/value-reranker/src/quality/report.ts';
import { valueReranker } from '../../../apps/value-reranker/src/service.ts';

let folder: string;
let kafka: KafkaPort;
const services: RunningService[] = [];
const rankings: RankingDecided[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'value-reranker-'));
  const prefix = `t${randomBytes(5).toString('hex')}`;
  for (const instance of ['one', 'two'])
    services.push(
      await bootstrapService({
        ...valueReranker,
        ownsProcess: false,
        env: {
          ESPALIER_KAFKA_BROKERS: inject('brokers').join(','),
          ESPALIER_PREFIX: prefix,
          ESPALIER_OBJECTS: pathToFileURL(folder).href,
          ESPALIER_INSTANCE: `reranker-${instance}`,
          ESPALIER_HTTP_PORT: '0',
          ESPALIER_METRICS_PORT: '0',
          ESPALIER_LOG_LEVEL: 'error',
          ESPALIER_FIT_INTERVAL_S: '0.2',
          ESPALIER_FIT_EVERY: '24',
        },
      }),
    );
  kafka = openKafka({ brokers: inject('brokers'), clientId: 'spec', prefix, profile: 'embedded' });
  const listener = kafka.broadcast({
    topics: ['ranking.decided'],
    from: 'earliest',
    handler: ({ value }) => void rankings.push(value),
  });
  await listener.start();
});

afterAll(async () => {
  await kafka.close();
  for (const service of services) await service.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function eventually(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const until = Date.now() + 60_000;
  while (!(await condition())) {
    if (Date.now() > until) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Long trajectories fail in this world. */
async function produceGroup(admission: number): Promise<void> {
  const group = `run/task/${admission}`;
  const members = Array.from({ length: 4 }, (_, index) => {
    const trajectory = `${group}/r${index}/a0/t`;
    const turns = 2 + (hash32(trajectory) % 20);
    return { trajectory, index, counts: trajectoryCounts({ turns, model_calls: turns }), passed: turns < 8 };
  });
  const body = {
    key: 'runs/run/gone',
    sha256: '',
    bytes: 0,
    content_digest: '',
    content_bytes: 0,
    media_type: '',
    encoding: 'zstd',
  };
  for (const { trajectory, index, counts, passed } of members)
    await kafka.producer().send('trajectory.scored', {
      run_id: 'run',
      group_id: group,
      rollout_id: `${group}/r${index}`,
      attempt_id: `${group}/r${index}/a0`,
      trajectory_id: trajectory,
      task_id: 'task',
      revision: 0,
      purpose: 'TRAIN',
      reward: passed ? 1 : 0,
      passed,
      rewards: [],
      status: 'COMPLETED',
      stop_reason: 'SUBMITTED',
      counts,
      harness: runConfig().harnesses[0] ?? { name: 'mini' },
      timing: {},
    });
  await kafka.producer().send('group.decided', {
    run_id: 'run',
    group_id: group,
    task_id: 'task',
    outcome: 'ADMITTED',
    selection: 'EXACT',
    scored: 4,
    passed: members.filter(({ passed }) => passed).length,
    members: members.map(({ trajectory, index, counts, passed }) => ({
      trajectory_id: trajectory,
      attempt_id: `${group}/r${index}/a0`,
      rollout_index: index,
      status: 'COMPLETED',
      reward: passed ? 1 : 0,
      selected: true,
      body,
      counts,
    })),
  });
}

it('ranks every decided group once, by models that one replica fits and every replica finds', async () => {
  for (let admission = 0; admission < 12; admission++) await produceGroup(admission);
  await eventually('the first groups are ranked', () => rankings.length >= 12);
  let admission = 12;
  await eventually('a group is ranked by a fitted model', async () => {
    await produceGroup(admission++);
    return rankings.some(({ model_version: version }) => version > 0);
  });
  for (let more = 0; more < 24; more++) await produceGroup(admission++);
  await eventually('all groups are ranked', () => new Set(rankings.map(({ group_id: id }) => id)).size === admission);
  expect(new Set(rankings.map(({ event_id: id }) => id)).size).toBe(admission);

  const reports: RankingReport[] = [];
  for (const { url } of services) {
    let report: RankingReport | undefined;
    await eventually('the report counts every group', async () => {
      report = (await (await fetch(`${url}/v1/report`)).json()) as RankingReport;
      return report.all.groups + report.groups_without_model === admission;
    });
    if (report) reports.push(report);
  }
  expect(reports[1]).toEqual(reports[0]);
  expect(reports[0]?.auc ?? 0).toBeGreaterThan(0.8);
  expect(reports[0]?.mixed.best_at_1 ?? 0).toBeGreaterThan(reports[0]?.mixed.random ?? 1);
});
