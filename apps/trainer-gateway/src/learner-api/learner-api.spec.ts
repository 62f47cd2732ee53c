import 'reflect-metadata';
import { encodeBody } from '@espalier/avro';
import { asLogged, objectRef, runConfig } from '@espalier/testing';
import { OBJECTS } from '@espalier/nest';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { BatchBoard } from '../batches/batch-board.ts';
import { RunBoard } from '../runs/run-board.ts';
import { RunsController } from '../runs/runs.controller.ts';
import { Commands } from './commands.ts';
import { LearnerController } from './learner.controller.ts';
import { serveOpenApi } from './openapi.ts';

const report = (value: object) =>
  asLogged('run.reported', { run_id: 'r', kind: 'STATE', state: 'ACTIVE', ...value }, 5);
const batch = (seq: number) =>
  asLogged(
    'batch.offered',
    {
      run_id: 'r',
      batch_id: `r/batch/${seq}`,
      seq,
      entries: ['a', 'b'].map((name) => ({
        trajectory_id: name,
        group_id: 'g',
        task_id: 't',
        reward: 1,
        advantage: 0.5,
        body: objectRef(name),
        samples: 1,
        sampled_tokens: 2,
      })),
      digest: 'd',
      policy_version: 0,
      learner_epoch: 1,
    },
    1,
  );
const body = encodeBody('trajectory.body', {
  trajectory_id: 'a',
  attempt_id: 'a',
  task_id: 't',
  harness: 'mini',
  model: 'm',
  instruction: 'mend it',
  nodes: [],
  calls: [],
  samples: [
    {
      sample_id: 's0',
      leaf_node: 0,
      token_ids: new Int32Array([1, 2]),
      logprobs: new Float32Array([0, -1]),
      mask_runs: [1, 1],
      version_runs: [{ version: 0, length: 1 }],
    },
  ],
});

let app: NestFastifyApplication;
let runs: RunBoard;
let batches: BatchBoard;
/** Verdict that the next command gets; undefined for none in time. */
let verdict: object | undefined;
const sent: object[] = [];

beforeEach(async () => {
  runs = new RunBoard();
  batches = new BatchBoard();
  sent.length = 0;
  const producer = {
    send: (_topic: string, event: { command_id: string }) => {
      sent.push(event);
      if (verdict) runs.onReported(report({ kind: 'VERDICT', command_id: event.command_id, ...verdict }));
      return Promise.resolve();
    },
  };
  const commands = new Commands(runs, producer as unknown as ConstructorParameters<typeof Commands>[1], 20);
  const module = await Test.createTestingModule({
    controllers: [LearnerController, RunsController],
    providers: [
      { provide: RunBoard, useValue: runs },
      { provide: BatchBoard, useValue: batches },
      { provide: Commands, useValue: commands },
      { provide: OBJECTS, useValue: { get: () => Promise.resolve(body) } },
    ],
  }).compile();
  app = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter());
  serveOpenApi(app);
  await app.init();
  await app.getHttpAdapter().getInstance().ready();
  runs.onSubmitted(asLogged('run.submitted', { run_id: 'r', config: runConfig(), submitted_by: 'ann' }, 1));
  runs.onReported(report({ learner_epoch: 2 }));
});
afterEach(() => app.close());

const get = (url: string) => app.inject({ method: 'GET', url });
const post = (url: string, payload: object) => app.inject({ method: 'POST', url, payload });

it('gives the next batch, waits for it, and says when there will be none', async () => {
  expect((await get('/v1/runs/r/batches/next?after=0&wait=0')).statusCode).toBe(204);
  const waiting = get('/v1/runs/r/batches/next?after=0&wait=60&learner_epoch=2');
  batches.onOffered(batch(1));
  expect((await waiting).json()).toMatchObject({ seq: 1, samples_url: '/v1/runs/r/batches/1/samples' });
  expect((await get('/v1/runs/r/batches/next?after=0&learner_epoch=1')).json()).toMatchObject({
    code: 'STALE_LEARNER',
  });
  runs.onReported(report({ kind: 'ENDED', state: 'COMPLETED' }));
  const gone = await get('/v1/runs/r/batches/next?after=1');
  expect([gone.statusCode, gone.json<{ code: string }>().code]).toEqual([410, 'RUN_ENDED']);
});

it('delivers samples whole or by rank', async () => {
  batches.onOffered(batch(1));
  const lines = (await get('/v1/runs/r/batches/1/samples?format=jsonl')).body.trim().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { trajectory_id: string }).trajectory_id)).toEqual(['a', 'b']);
  const share = await get('/v1/runs/r/batches/1/samples?format=jsonl&rank=1&world=2');
  expect(JSON.parse(share.body)).toMatchObject({ trajectory_id: 'b', logprobs: [0, -1], advantage: 0.5 });
  expect((await get('/v1/runs/r/batches/9/samples')).json()).toMatchObject({ code: 'BATCH_UNKNOWN' });
  expect((await get('/v1/runs/r/batches/1/samples?rank=2&world=2')).json()).toMatchObject({ code: 'REQUEST_INVALID' });
});

it('answers commands with their verdict, with its refusal, or with where it will be', async () => {
  verdict = { accepted: true, next_seq: 4, learner_epoch: 3 };
  expect((await post('/v1/runs/r/learner', { checkpoint: 'c' })).json()).toMatchObject({
    next_seq: 4,
    learner_epoch: 3,
  });
  verdict = { accepted: false, code: 'STALE_LEARNER', message: 'session 1 has ended' };
  const stale = await post('/v1/runs/r/batches/1/ack', { learner_epoch: 1, checkpoint: 'c' });
  expect([stale.statusCode, stale.json<{ code: string }>().code]).toEqual([409, 'STALE_LEARNER']);
  verdict = undefined;
  const late = await post('/v1/runs/r/policy', { phase: 'READY', version: 1, after_batch: 1 });
  expect(late.statusCode).toBe(202);
  const { status_url: url } = late.json<{ status_url: string }>();
  expect((await get(url)).json()).toMatchObject({ code: 'COMMAND_PENDING' });
  runs.onReported(report({ kind: 'POLICY', command_id: 'policy:0:1:READY', accepted: true }));
  expect((await get(url)).json()).toMatchObject({ accepted: true });
});

it('sends a retry under the same command id', async () => {
  verdict = { accepted: true };
  const ack = { learner_epoch: 2, checkpoint: 'c1' };
  await post('/v1/runs/r/batches/1/ack', ack);
  await post('/v1/runs/r/batches/1/ack', ack);
  const [first, second] = sent as { command_id: string }[];
  expect(first?.command_id).toBe(second?.command_id);
});

it('names what is wrong with a request, and unknown runs', async () => {
  const bad = await post('/v1/runs/r/batches/1/ack', { checkpoint: '' });
  expect(bad.statusCode).toBe(422);
  expect(bad.json<{ message: string }>().message).toMatch(/learner_epoch.*checkpoint/s);
  for (const answer of [
    await get('/v1/runs/x'),
    await post('/v1/runs/x/learner', {}),
    await get('/v1/runs/x/batches/next'),
  ])
    expect([answer.statusCode, answer.json<{ code: string }>().code]).toEqual([404, 'RUN_UNKNOWN']);
});

it('describes itself', async () => {
  const document = (await get('/openapi.json')).json<{ paths: Record<string, { post?: { requestBody?: object } }> }>();
  expect(Object.keys(document.paths)).toContain('/v1/runs/{run}/batches/next');
  expect(JSON.stringify(document.paths['/v1/runs/{run}/batches/{seq}/ack']?.post?.requestBody)).toContain(
    'learner_epoch',
  );
});
