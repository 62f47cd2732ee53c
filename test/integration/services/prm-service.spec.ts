import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { encodeBody } from '@espalier/avro';
import type { ObjectRef, RewardReported, ScoringRequestedBody } from '@espalier/contracts';
import { openKafka, type KafkaPort } from '@espalier/kafka';
import { bootstrapService, type RunningService } from '@espalier/nest';
import { openObjectStore } from '@espalier/objects';
import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { prmService } from '../../../apps/prm-service/src/service.ts';
import { JudgeServer, valued } from '../../../apps/prm-service/src/testing/judge-server.ts';

let folder: string;
let kafka: KafkaPort;
let judge: JudgeServer;
let judgeUrl: string;
let prefix: string;
let service: RunningService | undefined;
const rewards: RewardReported[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'prm-service-'));
  judge = new JudgeServer();
  judgeUrl = await judge.listen();
  prefix = `t${randomBytes(5).toString('hex')}`;
  rewards.length = 0;
});
afterEach(async () => {
  await service?.stop();
  await kafka.close();
  await judge.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the service, and a stand-in for the group that grants every claim. */
async function start(env: Record<string, string>): Promise<RunningService> {
  service = await bootstrapService({
    ...prmService,
    ownsProcess: false,
    env: {
      ESPALIER_KAFKA_BROKERS: inject('brokers').join(','),
      ESPALIER_PREFIX: prefix,
      ESPALIER_OBJECTS: pathToFileURL(folder).href,
      ESPALIER_HTTP_PORT: '0',
      ESPALIER_METRICS_PORT: '0',
      ESPALIER_LOG_LEVEL: 'error',
      ...env,
    },
  });
  kafka = openKafka({ brokers: inject('brokers'), clientId: 'spec', prefix, profile: 'embedded' });
  const group = kafka.broadcast({
    topics: ['rollout.reported', 'reward.reported'],
    from: 'earliest',
    handler: async (event) => {
      if (event.topic === 'reward.reported') rewards.push(event.value);
      else if (event.value.kind === 'CLAIMED')
        await kafka.producer().send('rollout.ruled', {
          run_id: event.value.run_id,
          group_id: event.value.group_id,
          attempt_id: event.value.attempt_id,
          work: event.value.work,
          work_id: event.value.work_id,
          verdict: 'GRANTED',
          worker_id: event.value.worker_id,
          claim_id: event.value.claim_id,
          epoch: 1,
        });
    },
  });
  await group.start();
  return service;
}

async function requested(scorer: string): Promise<string> {
  const trajectory = 'run/task/0/r0/a0/t';
  const stored = openObjectStore(pathToFileURL(folder).href);
  const nodes = [
    { node_no: 0, parent: -1, role: 'assistant', message_json: '{"content":"Done."}', sampled: true, timestamp: 0 },
  ];
  const body: ObjectRef = await stored.put(
    encodeBody('trajectory.body', {
      trajectory_id: trajectory,
      attempt_id: 'run/task/0/r0/a0',
      task_id: 'task',
      harness: 'mini',
      model: 'm',
      instruction: 'Do it.',
      nodes,
      calls: [],
      samples: [],
    }),
    { prefix: 'runs/run/trajectories', mediaType: 'application/avro' },
  );
  const request: ScoringRequestedBody = {
    run_id: 'run',
    group_id: 'run/task/0',
    attempt_id: 'run/task/0/r0/a0',
    trajectory_id: trajectory,
    work_id: `${trajectory}/${scorer}@1#0`,
    scorer,
    scorer_version: '1',
    required: false,
    deadline_at: Date.now() + 60_000,
    task: { task_id: 'task', package: body },
    body,
  };
  await kafka.producer().send('scoring.requested', request);
  return request.work_id;
}

async function answered(workId: string): Promise<RewardReported> {
  const until = Date.now() + 60_000;
  for (;;) {
    const found = rewards.find(({ work_id: id }) => id === workId);
    if (found) return found;
    if (Date.now() > until) throw new Error(`no reward for ${workId}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

it('claims scorings of its scorer, leaves others alone, and reports the judge’s score', async () => {
  judge.script = [valued(0.6)];
  const { url } = await start({ ESPALIER_JUDGE_URL: judgeUrl });
  const other = await requested('verifier');
  const reward = await answered(await requested('rubric'));
  expect(reward).toMatchObject({ epoch: 1, reward: { scorer: 'rubric', status: 'OK', failure: null } });
  expect(reward.reward.score).toBeCloseTo(0.6, 12);
  expect(rewards.some(({ work_id: id }) => id === other)).toBe(false);
  expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ scores: true, verdicts: { OK: 1 } });
});

it('says SKIPPED, with no score, where no judge is configured', async () => {
  const { url } = await start({});
  const reward = await answered(await requested('rubric'));
  expect(reward.reward).toMatchObject({ status: 'SKIPPED', score: null, failure: { code: 'JUDGE_NOT_CONFIGURED' } });
  const health = (await (await fetch(`${url}/health`)).json()) as { judge: string };
  expect(health.judge).toContain('ESPALIER_JUDGE_URL');
});
