import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { encodeBody } from '@espalier/avro';
import type { ObjectRef, RewardReportedBody, ScoringRequested, TrajectoryBodyDraft } from '@espalier/contracts';
import type { Claim, KafkaPort, RawRecord, WorkOptions } from '@espalier/kafka';
import { openObjectStore, type ObjectStore } from '@espalier/objects';
import { packFiles } from '@espalier/tasks';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rubrics } from '../judge/rubrics.ts';
import { JudgeServer, says, valued } from '../testing/judge-server.ts';
import { RubricScorer } from './rubric-scorer.ts';
import { ScoringWorker } from './scoring-worker.ts';
import type { Verdict } from './verdict.ts';

let folder: string;
let objects: ObjectStore;
let judge: JudgeServer;
let url: string;
let body: ObjectRef;

const node = (nodeNo: number, role: string, message: object, sampled = false) => ({
  node_no: nodeNo,
  parent: nodeNo - 1,
  role,
  message_json: JSON.stringify({ role, ...message }),
  sampled,
  timestamp: 0,
});

const trajectory: TrajectoryBodyDraft = {
  trajectory_id: 'run/task/0/r0/a0/t',
  attempt_id: 'run/task/0/r0/a0',
  task_id: 'task',
  harness: 'mini',
  model: 'm',
  instruction: 'Repair /app/prices.py.',
  nodes: [
    node(0, 'system', { content: 'SYSTEM PROMPT' }),
    node(1, 'user', { content: 'Repair /app/prices.py.' }),
    node(2, 'assistant', { content: null, tool_calls: [{ function: { name: 'bash', arguments: 'cat it' } }] }, true),
    node(3, 'tool', { content: `first ${'x'.repeat(3_000)} last` }),
    node(4, 'assistant', { content: 'Done.' }, true),
  ],
  calls: [],
  samples: [],
};

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'prm-service-'));
  objects = openObjectStore(pathToFileURL(folder).href);
  judge = new JudgeServer();
  url = await judge.listen();
  body = await objects.put(encodeBody('trajectory.body', trajectory), {
    prefix: 'runs/run/trajectories',
    mediaType: 'application/avro',
  });
});
afterEach(async () => {
  await judge.close();
  rmSync(folder, { recursive: true, force: true });
});

const request = (over: Partial<ScoringRequested> = {}): ScoringRequested =>
  ({
    run_id: 'run',
    group_id: 'run/task/0',
    attempt_id: 'run/task/0/r0/a0',
    trajectory_id: 'run/task/0/r0/a0/t',
    work_id: 'run/task/0/r0/a0/t/rubric@1#0',
    scorer: 'rubric',
    scorer_version: '1',
    required: false,
    config_json: '{"attempts":2}',
    deadline_at: Date.now() + 60_000,
    body,
    ...over,
  }) as ScoringRequested;

const score = (over: Partial<ScoringRequested> = {}, signal = new AbortController().signal): Promise<Verdict> =>
  new RubricScorer(objects, { url, apiKey: 'secret', model: 'judge-1' }).score(request(over), signal);

describe('rubric scorer', () => {
  it('weighs the seven values of the judge', async () => {
    judge.script = [
      says('{"R1":1.0,"R2":0.5,"R3":0,"R4":0.3,"R5":1,"R6":0.7,"R7":0.1,"notes":"Looked, changed, did not test."}'),
    ];
    const verdict = await score();
    expect(verdict).toMatchObject({ status: 'OK', failure: null });
    expect(verdict.score).toBeCloseTo(0.15 + 0.09 + 0 + 0.045 + 0.14 + 0.084 + 0.014, 12);
    expect(verdict.details).toMatchObject({
      rubrics: { R1: 1, R4: 0.3 },
      attempts: 1,
      model: 'judge-1',
      reference: false,
    });
    const [asked] = judge.requests;
    expect(asked).toMatchObject({ model: 'judge-1', temperature: 0.6, authorization: 'Bearer secret' });
    const prompt = asked?.messages[1]?.content ?? '';
    expect(prompt).toContain('cat it');
    expect(prompt).toContain('characters left out');
    expect(prompt).not.toContain('SYSTEM PROMPT');
  });

  it('has weights that sum to one', () => {
    expect(rubrics.reduce((sum, { weight }) => sum + weight, 0)).toBeCloseTo(1, 12);
  });

  it('shows as much of the outputs as asked for', async () => {
    judge.script = [valued(0.5)];
    await score({ config_json: '{"observations":"none"}' });
    await score({ config_json: '{"observations":"full"}' });
    expect(judge.requests[0]?.messages[1]?.content).toContain('OUTPUT (not shown)');
    expect(judge.requests[1]?.messages[1]?.content).toContain('x'.repeat(3_000));
  });

  it('shows the reference solution for R2, R3 and R5 alone', async () => {
    const files = { 'solution/solve.sh': 'sed -i REFERENCE', 'instruction.md': 'Repair.', 'tests/test.sh': 'true' };
    const config = ['schema_version = "1.4"', '[task]', 'name = "a/b"', '[metadata]', 'fail_to_pass = ["test_ten"]'];
    const all = { ...files, 'task.toml': config.join('\n'), 'environment/Dockerfile': 'FROM debian:12-slim\n' };
    const tar = await packFiles(
      Object.entries(all).map(([path, text]) => ({ path, mode: 0o644 as const, content: Buffer.from(text) })),
    );
    const reference = await objects.put(Buffer.from(tar), { prefix: 'packages', mediaType: 'application/x-tar' });
    judge.script = [valued(0.4), valued(0.8)];
    const verdict = await score({
      config_json: '{"reference":true}',
      task: { package: reference } as ScoringRequested['task'],
    });
    expect(verdict.score).toBeCloseTo(0.56 * 0.4 + 0.44 * 0.8, 12);
    const prompts = judge.requests.map(({ messages }) => messages[1]?.content ?? '');
    expect(prompts[0]).not.toContain('REFERENCE');
    expect(prompts[0]).not.toContain('R2 ');
    expect(prompts[1]).toContain('REFERENCE');
    expect(prompts[1]).toContain('test_ten');
    expect(prompts[1]).not.toContain('R7 ');
  });

  it('tells the judge what is wrong with an answer, and takes the next one', async () => {
    judge.script = [says('```json\n{}\n```'), valued(0.5)];
    expect(await score()).toMatchObject({ status: 'OK', score: 0.5, details: { attempts: 2 } });
    expect(judge.requests[1]?.messages.at(-1)?.content).toContain('not JSON');
  });

  it.each([
    ['text around JSON', 'Sure! {"R1":1}'],
    ['a missing rubric', '{"R1":1,"R2":1,"R3":1,"R4":1,"R5":1,"R6":1}'],
    ['a value off the scale', '{"R1":1.1,"R2":1,"R3":1,"R4":1,"R5":1,"R6":1,"R7":1}'],
    ['a value off the steps', '{"R1":0.55,"R2":1,"R3":1,"R4":1,"R5":1,"R6":1,"R7":1}'],
    ['a value as text', '{"R1":"1","R2":1,"R3":1,"R4":1,"R5":1,"R6":1,"R7":1}'],
    ['a field not asked for', '{"R1":1,"R2":1,"R3":1,"R4":1,"R5":1,"R6":1,"R7":1,"R8":1}'],
    ['a list', '[1,1,1,1,1,1,1]'],
    ['null', 'null'],
  ])('gives no score for %s: INVALID', async (_, content) => {
    judge.script = [says(content)];
    expect(await score()).toMatchObject({ status: 'INVALID', score: null, failure: { code: 'JUDGE_BAD_ANSWER' } });
    expect(judge.requests).toHaveLength(2);
  });

  it('gives no score in an outage: INFRA_ERROR', async () => {
    judge.script = [() => ({ kind: 'status', status: 503 }), () => ({ kind: 'cut' })];
    expect(await score()).toMatchObject({
      status: 'INFRA_ERROR',
      score: null,
      failure: { code: 'JUDGE_UNAVAILABLE', class: 'INFRA' },
    });
    expect(judge.requests).toHaveLength(2);
    await judge.close();
    expect(await score()).toMatchObject({ status: 'INFRA_ERROR', score: null });
    judge = new JudgeServer();
  });

  it('comes through a short outage', async () => {
    judge.script = [() => ({ kind: 'status', status: 429 }), valued(0.7)];
    const verdict = await score();
    expect(verdict.score).toBeCloseTo(0.7, 12);
  });

  it('does not ask again where the judge refuses', async () => {
    judge.script = [() => ({ kind: 'status', status: 401 })];
    expect(await score()).toMatchObject({ status: 'INFRA_ERROR', score: null, failure: { code: 'JUDGE_REFUSED' } });
    expect(judge.requests).toHaveLength(1);
  });

  it('gives no score for a judge that is too slow: TIMEOUT', async () => {
    judge.script = [() => ({ kind: 'silent' })];
    expect(await score({ config_json: '{"attempts":2,"timeout_ms":100}' })).toMatchObject({
      status: 'TIMEOUT',
      score: null,
      failure: { code: 'JUDGE_TIMEOUT' },
    });
    expect(judge.requests).toHaveLength(2);
    const late = request({ deadline_at: Date.now() + 2_100 });
    expect(await score(late)).toMatchObject({ status: 'TIMEOUT', score: null });
  });

  it('says that it was not asked where there is nothing to judge with, or nothing to judge', async () => {
    const without = new RubricScorer(objects, null);
    expect(await without.score(request(), new AbortController().signal)).toMatchObject({
      status: 'SKIPPED',
      score: null,
      failure: { code: 'JUDGE_NOT_CONFIGURED' },
    });
    expect(await score({ body: null })).toMatchObject({ status: 'SKIPPED', score: null, failure: { code: 'NO_BODY' } });
    expect(judge.requests).toEqual([]);
  });

  it('gives no score for a body that is gone or options that are wrong', async () => {
    expect(await score({ config_json: '{"temprature":1}' })).toMatchObject({
      failure: { code: 'SCORER_OPTIONS_INVALID' },
    });
    await objects.remove(body.key);
    expect(await score()).toMatchObject({ status: 'INFRA_ERROR', score: null, failure: { code: 'OBJECT_MISSING' } });
  });
});

describe('scoring worker', () => {
  type Options = WorkOptions<'scoring.requested'>;
  const claim = (signal: AbortSignal): Claim => ({ workerId: 'w', claimId: 'c', epoch: 3, signal }) as unknown as Claim;

  function start(): { options: Options; sent: RewardReportedBody[]; verdicts: string[] } {
    const sent: RewardReportedBody[] = [];
    const verdicts: string[] = [];
    let options: Options | undefined;
    const kafka = {
      producer: () => ({ send: (_: string, event: RewardReportedBody) => (sent.push(event), Promise.resolve()) }),
      consumeWork: (given: Options) => {
        options = given;
        return {};
      },
    } as unknown as KafkaPort;
    const scorer = new RubricScorer(objects, { url, apiKey: null, model: 'm' });
    new ScoringWorker(kafka, scorer, { workerId: 'w', slots: 1, onVerdict: ({ status }) => verdicts.push(status) });
    if (!options) throw new Error('nothing consumed');
    return { options, sent, verdicts };
  }

  it('takes requests for its scorer alone and answers each with one event under its claim', async () => {
    judge.script = [valued(0.5)];
    const { options, sent, verdicts } = start();
    expect(options.accepts?.(request())).toBe(true);
    expect(options.accepts?.(request({ scorer: 'verifier' }))).toBe(false);
    await options.handler(request(), claim(new AbortController().signal));
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({
      work_id: request().work_id,
      epoch: 3,
      claim_id: 'c',
      reward: { score: 0.5, status: 'OK' },
    });
    expect(verdicts).toEqual(['OK']);
  });

  it('says nothing once the claim is over', async () => {
    judge.script = [() => ({ kind: 'silent' })];
    const { options, sent } = start();
    const over = new AbortController();
    const handled = options.handler(request(), claim(over.signal));
    while (judge.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    over.abort(new Error('cancelled'));
    await handled;
    expect(sent).toEqual([]);
  });

  it('answers for a request that does not decode by the ids in its headers', async () => {
    const { options, sent } = start();
    const record = (workId: string): RawRecord =>
      ({ topic: 't', partition: 1, offset: 2, headers: { 'x-work-id': workId } }) as unknown as RawRecord;
    const undecodable = options.onUndecodable;
    if (!undecodable) throw new Error('not handled');
    type Problem = Parameters<typeof undecodable>[1];
    const problem = new Error('no Avro') as Problem;
    await undecodable(record('run/task/0/r0/a0/t/verifier@1#0'), problem);
    await undecodable(record('nonsense'), problem);
    expect(sent).toEqual([]);
    await undecodable(record(request().work_id), problem);
    expect(sent[0]).toMatchObject({ epoch: 0, reward: { score: null, failure: { code: 'REQUEST_UNDECODABLE' } } });
  });
});
