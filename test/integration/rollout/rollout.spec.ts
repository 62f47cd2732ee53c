import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  groupIdFor,
  rolloutIdFor,
  attemptIdFor,
  scoringIdFor,
  trajectoryIdFor,
  type ModelCalled,
  type RewardReported,
  type RolloutRequestedBody,
  type TaskSpecDraft,
  type TrajectoryRecorded,
} from '@espalier/contracts';
import { decodeBody } from '@espalier/avro';
import { openKafka, type KafkaPort } from '@espalier/kafka';
import { repositoryRoot, startPlane, type Plane } from '@espalier/local-plane';
import { openObjectStore, type ObjectStore } from '@espalier/objects';
import { SandboxClient } from '@espalier/sandbox-client';
import { fileAt, loadTaskDirectory, packTask, taskFields, type LoadedTask } from '@espalier/tasks';
import { expandMask, TrajectoryBuilder } from '@espalier/trajectory';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ScriptedPolicy, type Saying } from './scripted-policy.ts';
import { StandInGroup } from './stand-in-group.ts';

/**
 * Rollouts and scorings through the real services: broker, sandbox-manager, sandboxes, rollout-runner and reward-scorer are
 * processes of a plane; the spec plays the group and the policy.
 */
const WAIT_MS = 90_000;

let dir: string;
let plane: Plane;
let kafka: KafkaPort;
let objects: ObjectStore;
let policy: ScriptedPolicy;
let group: StandInGroup;
let task: LoadedTask;
let spec: TaskSpecDraft;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'espalier-rollout-'));
  plane = await startPlane({
    isolated: true,
    dir,
    services: ['sandbox-manager', 'rollout-runner', 'reward-scorer'],
    serviceEnv: { 'rollout-runner': { ESPALIER_MODEL_TRIES: '2', ESPALIER_BUDGET_GRACE_MS: '1000' } },
  });
  kafka = openKafka({ brokers: plane.brokers, clientId: 'spec', prefix: plane.prefix, profile: 'embedded' });
  objects = openObjectStore(plane.clientEnvironment['ESPALIER_OBJECTS'] ?? '');
  policy = await ScriptedPolicy.start();
  group = new StandInGroup(kafka);
  await group.start();
  task = await loadTaskDirectory(join(repositoryRoot(), 'examples/tasks/leap-year'));
  const ref = await objects.put(await packTask(join(repositoryRoot(), 'examples/tasks/leap-year')), {
    prefix: 'packages',
    mediaType: 'application/x-tar',
  });
  spec = { task_id: 'leap-year', package: ref, ...pick(task) };
}, 300_000);

afterAll(async () => {
  await kafka?.close();
  await plane?.stop();
  await policy?.stop();
  if (process.env.KEEP) console.log(dir);
  else rmSync(dir, { recursive: true, force: true });
}, 120_000);

const pick = (loaded: LoadedTask): Omit<TaskSpecDraft, 'task_id' | 'package'> => {
  const { name, image, resources_json, agent_timeout_ms, verifier_timeout_ms } = taskFields(loaded);
  return { name, image, resources_json, agent_timeout_ms, verifier_timeout_ms };
};

async function eventually<T>(what: string, find: () => T | undefined): Promise<T> {
  const until = Date.now() + WAIT_MS;
  for (;;) {
    const found = find();
    if (found !== undefined) return found;
    if (Date.now() > until) throw new Error(`not within ${WAIT_MS} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

const attemptOf = (run: string): string => attemptIdFor(rolloutIdFor(groupIdFor(run, 'leap-year', 0), 0), 0);

/** Asks for one rollout of the task in a run of its own. */
async function request(run: string, sayings: Saying[], more: Partial<RolloutRequestedBody> = {}): Promise<string> {
  policy.script(run, ...sayings);
  const attemptId = attemptOf(run);
  await kafka.producer().send('rollout.requested', {
    run_id: run,
    group_id: groupIdFor(run, 'leap-year', 0),
    rollout_id: rolloutIdFor(groupIdFor(run, 'leap-year', 0), 0),
    attempt_id: attemptId,
    attempt_no: 0,
    rollout_index: 0,
    kind: 'START',
    purpose: 'TRAIN',
    task: spec,
    harness: { name: 'mini' },
    policy: { model: 'scripted', endpoints: [policy.endpoint], adapter: 'CHAT' },
    limits: { wall_ms: 60_000, model_calls: 5, sampled_tokens: 4_000, context_tokens: 16_000, setup_ms: 60_000 },
    policy_version: 0,
    seed: 11,
    deadline_at: Date.now() + 300_000,
    ...more,
  });
  return attemptId;
}

const recordOf = (attemptId: string): Promise<TrajectoryRecorded> =>
  eventually(`the record of ${attemptId}`, () => group.recorded.find(({ attempt_id }) => attempt_id === attemptId));

/** Asks for the verifier's verdict on a recorded trajectory. */
async function score(recorded: TrajectoryRecorded): Promise<RewardReported> {
  const workId = scoringIdFor(recorded.trajectory_id, 'verifier', '1', 0);
  await kafka.producer().send('scoring.requested', {
    run_id: recorded.run_id,
    group_id: recorded.group_id,
    attempt_id: recorded.attempt_id,
    trajectory_id: recorded.trajectory_id,
    work_id: workId,
    scorer: 'verifier',
    scorer_version: '1',
    required: true,
    config_json: '{}',
    deadline_at: Date.now() + 120_000,
    task: spec,
    snapshot: recorded.snapshot,
    body: recorded.body,
    stop_reason: recorded.stop_reason,
  });
  return eventually(`the reward of ${workId}`, () => group.rewards.find(({ work_id }) => work_id === workId));
}

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;

const sandboxes = (): SandboxClient =>
  new SandboxClient({
    baseUrl: plane.url('sandbox-manager') ?? '',
    apiKey: plane.clientEnvironment['ESPALIER_SANDBOX_API_KEY'] ?? '',
  });

async function sandboxIsGone(sandboxId: string): Promise<void> {
  const client = sandboxes();
  const state = (): Promise<unknown> => client.get(sandboxId).then(({ status }) => status, codeOf);
  await expect.poll(state, { timeout: 30_000 }).toBe('SANDBOX_LOST');
  client.close();
}

async function callsOf(attemptId: string): Promise<ModelCalled[]> {
  const calls: ModelCalled[] = [];
  for await (const { value } of kafka.reader().readAll('model.called')) {
    if (value?.attempt_id === attemptId) calls.push(value);
  }
  return calls;
}

/** The commands of the task's own solution: what a policy that can do it would run. */
const solution = (): string =>
  `cat > /tmp/solve.sh <<'SOLUTION'\n${fileAt(task.files, 'solution/solve.sh')?.content.toString() ?? ''}\nSOLUTION\nbash /tmp/solve.sh`;

it('rolls a task out with mini, records every token once, and scores it in a fresh sandbox', async () => {
  const attemptId = await request('solves', [{ run: 'cat calendar_rules.py' }, { run: solution() }, { say: 'Done.' }]);
  const recorded = await recordOf(attemptId);
  expect(recorded).toMatchObject({
    status: 'COMPLETED',
    stop_reason: 'SUBMITTED',
    failure: null,
    epoch: 1,
    policy_version_min: 1,
    policy_version_max: 1,
    harness_exit_code: 0,
    counts: { model_calls: 3, turns: 3, samples: 1, tool_calls: 2 },
  });
  const phases = group.reports.filter(({ attempt_id, kind }) => attempt_id === attemptId && kind === 'PHASE');
  expect(new Set(phases.map(({ phase }) => phase))).toEqual(new Set(['sandbox', 'harness', 'snapshot']));

  if (!recorded.body) throw new Error('no body');
  const body = decodeBody('trajectory.body', await objects.get(recorded.body));
  expect(body.instruction).toBe(task.instruction);
  const [sample] = body.samples;
  if (!sample) throw new Error('no sample');
  const sampled = expandMask(sample.mask_runs).reduce((sum, bit) => sum + bit, 0);
  expect(sampled).toBe(recorded.counts.sampled_tokens);
  expect(sample.realigned_tokens).toBe(0);

  // The log alone gives the same trajectory.
  const rebuilt = new TrajectoryBuilder({
    trajectoryId: trajectoryIdFor(attemptId),
    attemptId,
    taskId: 'leap-year',
    harness: 'mini',
    model: 'scripted',
    instruction: task.instruction,
  });
  for (const call of await callsOf(attemptId)) rebuilt.apply(call);
  expect(rebuilt.build(body.harness_log).body).toEqual(body);

  const reward = await score(recorded);
  expect(reward).toMatchObject({ epoch: 1, reward: { status: 'OK', score: 1, required: true, failure: null } });
  expect(reward.evidence).not.toBeNull();
}, 180_000);

it('scores 0 what the policy did not solve', async () => {
  const recorded = await recordOf(await request('gives-up', [{ say: 'I cannot.' }]));
  expect(recorded).toMatchObject({ status: 'COMPLETED', counts: { model_calls: 1 } });
  expect((await score(recorded)).reward).toMatchObject({ status: 'OK', score: 0 });
}, 180_000);

it('proves a task by its own solution, without a model', async () => {
  const calls = policy.calls;
  const recorded = await recordOf(await request('oracle', [], { harness: { name: 'oracle' } }));
  expect(recorded).toMatchObject({ status: 'COMPLETED', counts: { model_calls: 0 } });
  expect(policy.calls).toBe(calls);
  expect((await score(recorded)).reward).toMatchObject({ status: 'OK', score: 1 });
}, 180_000);

it('ends a rollout at its budget, and scores what there is', async () => {
  const limits = { wall_ms: 60_000, model_calls: 2, sampled_tokens: 4_000, context_tokens: 16_000, setup_ms: 60_000 };
  const recorded = await recordOf(await request('endless', [{ run: 'true' }], { limits }));
  expect(recorded).toMatchObject({
    status: 'TRUNCATED',
    stop_reason: 'MODEL_CALLS',
    failure: { class: 'BUDGET' },
    counts: { model_calls: 2 },
  });
  expect((await score(recorded)).reward).toMatchObject({ status: 'OK', score: 0 });
}, 180_000);

it('ends a rollout whose harness takes too long', async () => {
  const limits = { wall_ms: 2_000, model_calls: 5, sampled_tokens: 4_000, context_tokens: 16_000, setup_ms: 60_000 };
  const recorded = await recordOf(await request('slow', [{ run: 'sleep 600' }], { limits }));
  expect(recorded).toMatchObject({ status: 'TRUNCATED', stop_reason: 'WALL_CLOCK', failure: { class: 'BUDGET' } });
}, 180_000);

it('calls a policy server that is down an infrastructure failure, and scores nothing', async () => {
  const recorded = await recordOf(await request('down', [{ status: 503 }]));
  expect(recorded).toMatchObject({
    status: 'FAILED',
    stop_reason: 'LLM_UNAVAILABLE',
    failure: { class: 'INFRA', code: 'LLM_UNAVAILABLE' },
    snapshot: null,
  });
  expect((await score(recorded)).reward).toMatchObject({ status: 'SKIPPED', score: null });
}, 180_000);

it('records a cancelled rollout, and leaves no sandbox behind', async () => {
  const release = policy.hold();
  const before = policy.calls;
  try {
    const attemptId = await request('unwanted', [{ run: 'true' }]);
    await eventually('a model call', () => (policy.calls > before ? true : undefined));
    const holder = group.holder(attemptId);
    if (!holder) throw new Error('nobody holds it');
    await group.rule(holder, { verdict: 'CANCELLED', reason: 'GROUP_FULL' });
    const recorded = await recordOf(attemptId);
    expect(recorded).toMatchObject({
      status: 'CANCELLED',
      failure: { class: 'CONTROL', code: 'CANCELLED_GROUP_FULL' },
    });
    await sandboxIsGone(recorded.sandbox_id ?? '');
  } finally {
    release();
  }
}, 180_000);

it('gives a rollout back when its runner is stopped, and leaves the harness in its sandbox to an adopter', async () => {
  const before = policy.calls;
  const release = policy.hold();
  try {
    const attemptId = await request('drained', [{ run: 'true' }]);
    await eventually('a model call', () => (policy.calls > before ? true : undefined));
    await plane.restart('rollout-runner');
    const released = await eventually('the claim is given back', () =>
      group.reports.find(({ attempt_id, kind }) => attempt_id === attemptId && kind === 'RELEASED'),
    );
    expect(released).toMatchObject({ reason: 'DRAINING', epoch: 1 });
    expect(group.recorded.filter(({ attempt_id }) => attempt_id === attemptId)).toEqual([]);
    const started = group.reports.find(({ attempt_id, sandbox_id }) => attempt_id === attemptId && sandbox_id !== null);
    const client = sandboxes();
    expect((await client.get(started?.sandbox_id ?? '')).status).toBe('ready');
    await client.delete(started?.sandbox_id ?? '');
    client.close();
  } finally {
    release();
  }
}, 180_000);

it('goes on with a rollout whose runner was killed: the harness waits, the answer under way is asked again', async () => {
  const stream = { name: 'mini', config_json: '{"stream":true}' };
  const sayings = [{ run: 'cat calendar_rules.py' }, { run: solution() }, { say: 'Done.' }];
  const before = policy.calls;
  const release = policy.hold(1);
  const attemptId = await request('adopted', sayings, { harness: stream });
  await eventually('a call under way', () => (policy.calls > before + 1 ? true : undefined));
  plane.kill('rollout-runner');
  const sandboxId = group.reports.find(
    ({ attempt_id, sandbox_id }) => attempt_id === attemptId && sandbox_id,
  )?.sandbox_id;
  const modelLogFrom = group.reports.find(
    ({ attempt_id, model_log_from }) => attempt_id === attemptId && model_log_from !== null,
  )?.model_log_from;
  group.expire(attemptId);
  // What the policy said to the call that nobody heard is gone; it is asked again.
  policy.script('adopted', { run: solution() }, { say: 'Done.' });
  release();
  await request('adopted', [{ run: solution() }, { say: 'Done.' }], {
    harness: stream,
    kind: 'ADOPT',
    epoch: 2,
    sandbox_id: sandboxId ?? null,
    model_log_from: modelLogFrom ?? null,
  });
  const recorded = await recordOf(attemptId);
  expect(recorded).toMatchObject({
    status: 'COMPLETED',
    stop_reason: 'SUBMITTED',
    epoch: 2,
    sandbox_id: sandboxId,
    counts: { model_calls: 3, samples: 1, tool_calls: 2 },
  });
  const calls = await callsOf(attemptId);
  expect(calls.map(({ kind, call_no, epoch }) => [kind, call_no, epoch])).toEqual([
    ['CALL', 0, 1],
    ['ADOPTED', -1, 2],
    ['CALL', 1, 2],
    ['CALL', 2, 2],
  ]);
  expect((await score(recorded)).reward).toMatchObject({ status: 'OK', score: 1 });
}, 240_000);
