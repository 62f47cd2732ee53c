import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deadTopicOf, type EventMap, type ObjectRef } from '@espalier/contracts';
import { freePorts, repositoryRoot } from '@espalier/local-plane';
import { openObjectStore, type ObjectStore } from '@espalier/objects';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BrokenJudge } from './support/broken-judge.ts';
import { LearnerProcess } from './support/learner-process.ts';
import { LoopSession } from './support/loop-session.ts';
import { PolicyGate } from './support/policy-gate.ts';
import { SeenEvents } from './support/seen-events.ts';
import { SmallDisk } from './support/small-disk.ts';
import { writeTask, type TaskOddities } from './support/task-directory.ts';

const MINUTES = 60_000;
const WAIT = 5 * MINUTES;
const DISK_BYTES = 24 * 1024 * 1024;
const PARK_MS = 2_000;

let session: LoopSession;
let seen: SeenEvents;
let disk: SmallDisk;
let objects: ObjectStore;
let judgePort: number;
let gatePort: number;
let policyUrl: string;
const gates: PolicyGate[] = [];
const learners: LearnerProcess[] = [];

beforeAll(async () => {
  [judgePort = 0, gatePort = 0] = await freePorts(2);
  session = await LoopSession.start(
    {
      serviceEnv: {
        'trainer-gateway': { ESPALIER_PARK_MS: String(PARK_MS) },
        'rollout-runner': { ESPALIER_SLOTS: '8', ESPALIER_MODEL_TRIES: '2' },
        'reward-scorer': { ESPALIER_SLOTS: '8' },
        'prm-service': { ESPALIER_JUDGE_URL: `http://127.0.0.1:${judgePort}/v1` },
        // The tests bring learners of their own.
        'reference-learner': { ESPALIER_ROLE: 'policy' },
      },
    },
    async (dir) => void (disk = await SmallDisk.at(join(dir, 'objects'), DISK_BYTES)),
  );
  policyUrl = session.plane.url('reference-learner') ?? '';
  objects = openObjectStore(session.plane.clientEnvironment['ESPALIER_OBJECTS'] ?? '');
  seen = new SeenEvents(session.kafka, [
    'run.reported',
    'group.opened',
    'group.decided',
    'rollout.ended',
    'trajectory.recorded',
    'trajectory.scored',
    'batch.offered',
    'batch.trained',
  ]);
  await seen.start();
}, 3 * MINUTES);

afterAll(async () => {
  await seen.stop();
  for (const learner of learners) await learner.kill();
  for (const gate of gates) await gate.close();
  await session.stop();
  disk.close();
}, 2 * MINUTES);

/** Directories of tasks that are as odd as said, in a folder of the run's own. */
const tasksOf = (runId: string, odd: Record<string, TaskOddities>): string[] =>
  Object.entries(odd).map(([name, oddities]) => writeTask(join(session.dir, 'tasks', runId), name, oddities));

/** A run that evaluates: one rollout a task, one replacement, and a breaker that never opens. */
const evaluate = (runId: string, tasks: unknown[], more: object = {}): Promise<void> =>
  session.createRun(runId, [], {
    purpose: 'eval',
    harness: 'oracle',
    tasks,
    group: { size: 1, budget: 1, max_replacements: 1 },
    batch: { size: 1 },
    breaker: { window: 50, min_attempts: 50 },
    repeat_tasks: false,
    ...more,
  });

const example = (name: string): string => join(repositoryRoot(), 'examples/tasks', name);

function gateOn(port: number): PolicyGate {
  const gate = new PolicyGate(port, policyUrl);
  gates.push(gate);
  return gate;
}

async function heldGate(): Promise<PolicyGate> {
  const [port = 0] = await freePorts(1);
  const gate = gateOn(port);
  await gate.listen();
  gate.hold();
  return gate;
}

const ended = (runId: string): Promise<EventMap['run.reported']> => seen.ended(runId, WAIT);

async function auditIsClean(runId: string): Promise<void> {
  const audit = await session.cli('audit', runId, '--json');
  expect(audit.code, audit.stdout + audit.stderr).toBe(0);
}

/** How the attempts of a task ended, in order: outcome, class and code of the failure. */
const endings = (runId: string, taskId: string): string[] =>
  seen
    .of('rollout.ended', runId)
    .filter(({ group_id }) => group_id.startsWith(`${runId}/${taskId}/`))
    .map(({ outcome, failure }) => [outcome, failure?.class, failure?.code].filter(Boolean).join(' '));

const decision = (runId: string, taskId: string): string | undefined =>
  seen.of('group.decided', runId).find(({ task_id }) => task_id === taskId)?.outcome;

/** What the scorers of a task's trajectories said, newest revision of each trajectory: `scorer status score code`. */
const verdicts = (runId: string, taskId: string): string[][] => {
  const newest = new Map<string, EventMap['trajectory.scored']>();
  for (const event of seen.of('trajectory.scored', runId))
    if (event.task_id === taskId) newest.set(event.trajectory_id, event);
  return [...newest.values()].map(({ rewards }) =>
    rewards.map(({ scorer, status, score, failure }) => `${scorer} ${status} ${score} ${failure?.code ?? '-'}`),
  );
};

describe.concurrent('while the plane works on', () => {
  it(
    'a package that is no tar, is damaged or is missing fails its own group alone',
    async () => {
      await evaluate('packages', tasksOf('packages', { good: {} }), { close_when_done: false });
      const put = (content: string, compress = true): Promise<ObjectRef> =>
        objects.put(Buffer.from(content), { prefix: 'packages', mediaType: 'application/x-tar', compress });
      const notTar = await put('this is no archive '.repeat(100));
      const damaged = await put('whole', false);
      const missing = await put('gone', false);
      await objects.remove(missing.key);
      writeFileSync(join(session.dir, 'objects', damaged.key), 'wholf');
      for (const [task_id, reference] of Object.entries({ 'not-tar': notTar, damaged, missing }))
        await session.kafka.producer().send('task.submitted', { run_id: 'packages', task_id, package: reference });
      // Only a task that comes after the broken ones shows that the run goes on behind them.
      await session.ok('tasks', 'publish', '--run', 'packages', ...tasksOf('packages', { later: {} }));
      await session.ok('run', 'close-tasks', 'packages');
      expect((await ended('packages')).state).toBe('COMPLETED');

      const twice = (code: string): string[] => [`REPLACED INFRA ${code}`, `FAILED INFRA ${code}`];
      expect(endings('packages', 'not-tar')).toEqual(twice('TASK_PACKAGE_INVALID'));
      expect(endings('packages', 'damaged')).toEqual(twice('OBJECT_CORRUPT'));
      expect(endings('packages', 'missing')).toEqual(twice('OBJECT_MISSING'));
      for (const task of ['not-tar', 'damaged', 'missing']) expect(decision('packages', task)).toBe('FAILED');
      for (const task of ['good', 'later']) expect(endings('packages', task)).toEqual(['DELIVERED']);
      await auditIsClean('packages');
    },
    2 * WAIT,
  );

  it(
    'a verifier that hangs, or leaves no number, gives no score, and never 0',
    async () => {
      const writes = (text: string): TaskOddities => ({ test: `printf '${text}' >/logs/verifier/reward.txt` });
      await evaluate(
        'verifiers',
        tasksOf('verifiers', {
          hangs: { test: 'sleep 600', verifierSeconds: 2 },
          silent: { test: 'true' },
          empty: writes(''),
          nan: writes('NaN'),
          garbage: writes('all good, trust me'),
          'nan-json': { test: `echo '{"reward": NaN}' >/logs/verifier/reward.json` },
          good: {},
        }),
      );
      expect((await ended('verifiers')).state).toBe('COMPLETED');

      const expected = {
        hangs: ['TIMEOUT', 'VERIFIER_TIMEOUT', 'INFRA'],
        silent: ['INFRA_ERROR', 'NO_REWARD_FILE', 'INFRA'],
        empty: ['INVALID', 'REWARD_FILE_EMPTY', 'SUSPECT'],
        nan: ['INVALID', 'REWARD_NOT_FINITE', 'SUSPECT'],
        garbage: ['INVALID', 'REWARD_UNPARSABLE', 'SUSPECT'],
        'nan-json': ['INVALID', 'REWARD_NOT_FINITE', 'SUSPECT'],
      };
      for (const [task, [status, code, failureClass]] of Object.entries(expected)) {
        const said = [`verifier ${status} null ${code}`];
        expect(verdicts('verifiers', task), task).toEqual([said, said]);
        expect(endings('verifiers', task), task).toEqual([
          `REPLACED ${failureClass} ${code}`,
          `FAILED ${failureClass} ${code}`,
        ]);
        expect(decision('verifiers', task), task).toBe('FAILED');
      }
      expect(verdicts('verifiers', 'good')).toEqual([['verifier OK 1 -']]);
      const scored = seen.of('trajectory.scored', 'verifiers').filter(({ task_id }) => task_id !== 'good');
      expect(scored.map(({ reward, passed }) => [reward, passed])).toEqual(scored.map(() => [null, null]));
      await auditIsClean('verifiers');
    },
    2 * WAIT,
  );

  it(
    'a judge that is down, silent or talks nonsense gives no score: optional it holds nothing, required the attempt is replaced',
    async () => {
      const judgement = (version: string, model: string, required: boolean): object => ({
        ...{ name: 'rubric', version, required, weight: required ? 1 : 0, deadline: '40s' },
        config: { model, attempts: 1, timeout_ms: 1_000 },
      });
      // With a model, so that there is a body to judge.
      const run = (runId: string, ...judges: object[]): Promise<void> =>
        evaluate(runId, [{ path: example('rate-limiter'), id: 'task' }], {
          harness: 'mini',
          scorers: ['verifier', ...judges],
        });
      const lastWord = (runId: string, scorers: number): Promise<unknown> =>
        seen.until(
          'trajectory.scored',
          runId,
          (events) => events.some(({ rewards }) => rewards.length === scorers),
          WAIT,
        );
      // Nothing listens where the judge should be.
      await run('judge-down', judgement('v1', 'any', false));
      await run('judge-down-required', judgement('v1', 'any', true));
      await Promise.all([ended('judge-down'), ended('judge-down-required')]);
      await lastWord('judge-down', 2);
      expect(endings('judge-down', 'task')).toEqual(['DELIVERED']);
      expect(verdicts('judge-down', 'task')).toEqual([
        [expect.stringMatching(/^verifier OK [01] -$/), 'rubric INFRA_ERROR null JUDGE_UNAVAILABLE'],
      ]);
      expect(endings('judge-down-required', 'task')).toEqual([
        'REPLACED INFRA JUDGE_UNAVAILABLE',
        'FAILED INFRA JUDGE_UNAVAILABLE',
      ]);
      expect(decision('judge-down-required', 'task')).toBe('FAILED');

      const judge = new BrokenJudge();
      await judge.listen(judgePort);
      try {
        await run('judge-broken', judgement('v1', 'talker', false), judgement('v2', 'silent', false));
        await run('judge-broken-required', judgement('v1', 'talker', true));
        await Promise.all([ended('judge-broken'), ended('judge-broken-required')]);
        await lastWord('judge-broken', 3);
      } finally {
        await judge.close();
      }
      expect(endings('judge-broken', 'task')).toEqual(['DELIVERED']);
      expect(verdicts('judge-broken', 'task')[0]?.slice(1)).toEqual([
        'rubric INVALID null JUDGE_BAD_ANSWER',
        'rubric TIMEOUT null JUDGE_TIMEOUT',
      ]);
      expect(endings('judge-broken-required', 'task')).toEqual([
        expect.stringMatching(/^REPLACED SUSPECT /),
        expect.stringMatching(/^FAILED SUSPECT /),
      ]);
      for (const runId of ['judge-down', 'judge-broken', 'judge-down-required', 'judge-broken-required']) {
        for (const { reward } of seen.of('trajectory.scored', runId))
          expect(reward === null).toBe(runId.endsWith('required'));
        await auditIsClean(runId);
      }
    },
    3 * WAIT,
  );

  it(
    'a policy server that is down opens the breaker; mended and resumed, the run goes on',
    async () => {
      const gate = gateOn(gatePort);
      await evaluate('policy-down', [{ path: example('rate-limiter'), repeat: 6 }], {
        harness: 'mini',
        policy: { model: 'reference', endpoint: gate.endpoint, max_tokens: 4096 },
        breaker: { window: 4, min_attempts: 2, max_infra_share: 0.5 },
        max_attempts_in_flight: 2,
      });
      const reports = await seen.until(
        'run.reported',
        'policy-down',
        (events) => events.some(({ kind }) => kind === 'BREAKER'),
        WAIT,
      );
      const opened = reports.find(({ kind }) => kind === 'BREAKER');
      expect(opened).toMatchObject({ state: 'PAUSED', code: 'BREAKER_OPEN' });
      const shown = await session.ok('run', 'show', 'policy-down');
      expect(shown.toLowerCase()).toContain('paused');
      // What was in flight fails too; nothing new is admitted.
      await seen.until(
        'group.decided',
        'policy-down',
        (events) => events.length === seen.of('group.opened', 'policy-down').length,
        WAIT,
      );
      expect(seen.of('group.opened', 'policy-down').length).toBeLessThan(6);
      expect(new Set(seen.of('rollout.ended', 'policy-down').map(({ failure }) => failure?.code))).toEqual(
        new Set(['LLM_UNAVAILABLE']),
      );

      await gate.listen();
      gate.open();
      await session.ok('run', 'resume', 'policy-down');
      expect((await ended('policy-down')).state).toBe('COMPLETED');
      const outcomes = seen.of('group.decided', 'policy-down').map(({ outcome }) => outcome);
      expect(outcomes).toHaveLength(6);
      expect(new Set(outcomes)).toEqual(new Set(['FAILED', 'DELIVERED']));
      expect(
        seen.of('run.reported', 'policy-down').filter(({ kind }) => kind === 'BREAKER'),
        'opened once',
      ).toHaveLength(1);
      await auditIsClean('policy-down');
    },
    3 * WAIT,
  );

  it(
    'harnesses that are unknown, misconfigured, crash, or use up their budget end in the class that fits',
    async () => {
      const model = { policy: { model: 'reference', endpoint: `${policyUrl}/v1`, max_tokens: 4096 } };
      await Promise.all([
        evaluate('harness-unknown', tasksOf('harness-unknown', { task: {} }), { harness: 'clippy' }),
        evaluate('harness-options', tasksOf('harness-options', { task: {} }), {
          harness: { name: 'mini', config: { max_turns: 0, colour: 'red' } },
        }),
        evaluate(
          'oracles',
          tasksOf('oracles', {
            'exits-1': { solution: 'echo broken; exit 1' },
            dies: { solution: 'kill -9 $PPID; sleep 60' },
            'not-started': { solution: 'exit 127' },
            slow: { solution: 'echo yes >/app/done; sleep 600', agentSeconds: 2 },
            good: {},
          }),
        ),
        evaluate('one-call', [example('rate-limiter')], {
          ...model,
          harness: 'mini',
          limits: { wall: '1m', model_calls: 1, setup: '1m' },
        }),
      ]);
      for (const runId of ['harness-unknown', 'harness-options', 'oracles', 'one-call'])
        expect((await ended(runId)).state).toBe('COMPLETED');

      const twice = (code: string): string[] => [`REPLACED INFRA ${code}`, `FAILED INFRA ${code}`];
      expect(endings('harness-unknown', 'task')).toEqual(twice('HARNESS_UNKNOWN'));
      expect(endings('harness-options', 'task')).toEqual(twice('HARNESS_CONFIG'));
      const [refused] = seen.of('rollout.ended', 'harness-options');
      expect(refused?.failure?.message).toContain('max_turns');
      expect(refused?.failure?.message).toContain('colour');
      // A solution that fails is the task's fault: trying again would not help.
      expect(endings('oracles', 'exits-1')).toEqual(['FAILED SUSPECT ORACLE_FAILED']);
      expect(endings('oracles', 'dies')).toEqual(twice('HARNESS_SIGNAL'));
      expect(endings('oracles', 'not-started')).toEqual(twice('HARNESS_NOT_STARTED'));

      // A budget is the policy's own doing: what it left is graded as it is.
      expect(endings('oracles', 'slow')).toEqual(['DELIVERED']);
      const [slow] = seen.of('trajectory.scored', 'oracles').filter(({ task_id }) => task_id === 'slow');
      expect(slow).toMatchObject({ status: 'TRUNCATED', stop_reason: 'WALL_CLOCK', reward: 1 });
      expect(endings('one-call', 'rate-limiter')).toEqual(['DELIVERED']);
      const [cut] = seen.of('trajectory.scored', 'one-call');
      expect(cut).toMatchObject({ status: 'TRUNCATED', stop_reason: 'MODEL_CALLS', counts: { model_calls: 1 } });
      expect(verdicts('one-call', 'rate-limiter')).toEqual([[expect.stringMatching(/^verifier OK [01] -$/)]]);
      for (const runId of ['harness-unknown', 'harness-options', 'oracles', 'one-call']) await auditIsClean(runId);
    },
    3 * WAIT,
  );

  it(
    'a scorer that no service offers is given up at its deadline: optional it holds nothing',
    async () => {
      const unknown = (required: boolean): object => ({
        ...{ name: 'delphi', version: 'v1', required, weight: required ? 1 : 0 },
        // The optional one has its last word long after the run has ended.
        deadline: required ? '4s' : '45s',
      });
      for (const required of [false, true]) {
        const runId = `scorer-${required ? 'required' : 'optional'}`;
        await evaluate(runId, tasksOf(runId, { task: {} }), { scorers: ['verifier', unknown(required)] });
      }
      const [end] = await Promise.all([ended('scorer-optional'), ended('scorer-required')]);
      const isComplete = ({ rewards }: EventMap['trajectory.scored']): boolean => rewards.length === 2;
      const words = await seen.until('trajectory.scored', 'scorer-optional', (events) => events.some(isComplete), WAIT);
      expect(words.find(isComplete)?.occurred_at).toBeGreaterThan(end.occurred_at);
      expect(endings('scorer-optional', 'task')).toEqual(['DELIVERED']);
      expect(verdicts('scorer-optional', 'task')).toEqual([['verifier OK 1 -', 'delphi TIMEOUT null SCORER_TIMEOUT']]);
      expect(endings('scorer-required', 'task')).toEqual([
        'REPLACED INFRA SCORER_TIMEOUT',
        'FAILED INFRA SCORER_TIMEOUT',
      ]);
      for (const runId of ['scorer-optional', 'scorer-required']) await auditIsClean(runId);
    },
    2 * WAIT,
  );

  it(
    'a run is paused, resumed and cancelled with work in flight',
    async () => {
      const gate = await heldGate();
      const tasks = ['rate-limiter', 'log-level', 'thermostat', 'page-slice', 'disk-alert'].map(example);
      await evaluate('commanded', tasks, {
        harness: 'mini',
        policy: { model: 'reference', endpoint: gate.endpoint, max_tokens: 4096, timeout: '5m' },
        max_attempts_in_flight: 2,
      });
      await gate.asked();
      await session.ok('run', 'pause', 'commanded', '--reason', 'for a look');
      gate.open();
      // What was begun is ended and scored; nothing new begins.
      const begun = seen.of('group.opened', 'commanded').map(({ group_id }) => group_id);
      expect(begun).toHaveLength(2);
      await seen.until('group.decided', 'commanded', (events) => events.length === 2, WAIT);
      for (const { outcome } of seen.of('rollout.ended', 'commanded')) expect(outcome).toBe('DELIVERED');
      gate.hold();
      await session.ok('run', 'resume', 'commanded');
      await gate.asked();
      await session.ok('run', 'cancel', 'commanded');
      expect((await ended('commanded')).state).toBe('CANCELLED');
      gate.open();

      const at = (state: string): number =>
        seen.of('run.reported', 'commanded').find((report) => report.state === state)?.occurred_at ?? Number.NaN;
      const resumed = seen
        .of('run.reported', 'commanded')
        .find((report) => report.state === 'ACTIVE' && report.occurred_at > at('PAUSED'));
      const later = seen.of('group.opened', 'commanded').filter(({ group_id }) => !begun.includes(group_id));
      expect(later.length).toBeGreaterThan(0);
      for (const group of later) expect(group.occurred_at).toBeGreaterThanOrEqual(resumed?.occurred_at ?? Number.NaN);
      for (const { group_id, outcome, reason } of seen.of('rollout.ended', 'commanded'))
        if (!begun.includes(group_id)) expect([outcome, reason]).toEqual(['CANCELLED', 'RUN_CANCELLED']);
      const refused = await session.cli('run', 'resume', 'commanded', '--json');
      expect(refused.code).toBe(1);
      expect(refused.stdout).toContain('RUN_ENDED');
      await auditIsClean('commanded');
    },
    3 * WAIT,
  );

  it(
    'tasks of an unknown run are dead-lettered, and brought back once the run is there',
    async () => {
      const directories = tasksOf('late', { one: {}, two: {} });
      await session.ok('tasks', 'publish', '--run', 'late', ...directories);
      const topic = deadTopicOf(session.plane.prefix, 'task.submitted', 'run-processor');
      const letters = async (): Promise<{ ref: string; code: string }[]> =>
        (await session.ok('dead', 'list', '--run', 'late', '--json'))
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line) as { ref: string; code: string });
      const buried = async (): Promise<number> =>
        (await session.kafka.admin.endOffsets(topic)).reduce((sum, { offset }) => sum + offset, 0);
      await expect.poll(buried, { timeout: WAIT, interval: 300 }).toBeGreaterThanOrEqual(2);
      const found = await letters();
      expect(found.map(({ code }) => code)).toEqual(['RUN_UNKNOWN', 'RUN_UNKNOWN']);
      const shown = await session.ok('dead', 'show', found[0]?.ref ?? '');
      expect(shown).toContain('submit the run, then replay the task');
      expect(shown).toContain('"run_id": "late"');

      await evaluate('late', [], { close_when_done: false });
      await session.ok('dead', 'replay', ...found.map(({ ref }) => ref));
      await session.ok('run', 'close-tasks', 'late');
      expect((await ended('late')).state).toBe('COMPLETED');
      for (const task of ['one', 'two']) expect(endings('late', task)).toEqual(['DELIVERED']);
      await auditIsClean('late');
    },
    2 * WAIT,
  );

  it(
    'of two learners the later one has the run; a third resumes from an old checkpoint and is offered the same bytes',
    async () => {
      const run = 'learners';
      const gateway = `${session.plane.url('trainer-gateway') ?? ''}/v1/runs/${run}`;
      await session.createRun(run, ['rate-limiter', 'log-level'], {
        group: {
          ...{ size: 2, budget: 2, rho_min: 0, rho_max: 1, require_std: false, require_positive: false },
          max_replacements: 4,
        },
        batch: { size: 4, max_staleness: 1 },
        // Far away: the run is to outlive two of its learners, however slow the machine.
        target: { batches: 500 },
        max_attempts_in_flight: 4,
      });
      const shared = join(session.dir, 'learners', 'shared');
      const start = async (name: string, stateDir: string): Promise<LearnerProcess> => {
        const learner = await LearnerProcess.start(session.plane, run, name, stateDir);
        learners.push(learner);
        return learner;
      };
      const acknowledged = (epoch: number, seq: number): Promise<unknown> =>
        seen.until(
          'run.reported',
          run,
          (events) =>
            events.some(
              (event) =>
                event.kind === 'TRAINED' &&
                event.accepted === true &&
                event.learner_epoch === epoch &&
                (event.trained_seq ?? 0) >= seq,
            ),
          WAIT,
        );
      const first = await start('first', shared);
      await acknowledged(1, 1);
      // A backup with the first batch alone.
      const isFirst = ({ seq }: EventMap['batch.trained']): boolean => seq === 1;
      const trainedFirst = await seen.until('batch.trained', run, (events) => events.some(isFirst), WAIT);
      const checkpoint = trainedFirst.find(isFirst)?.checkpoint ?? '';
      const backup = join(session.dir, 'learners', 'backup');
      const file = join('runs', run, `${checkpoint}.json`);
      mkdirSync(join(backup, 'runs', run), { recursive: true });
      copyFileSync(join(shared, file), join(backup, file));

      const second = await start('second', shared);
      await first.logged('another learner took over', WAIT);
      await acknowledged(2, first.trained.length + 1);
      for (const path of ['/batches/next?after=0&learner_epoch=1', '/batches/2/ack']) {
        const post = path.endsWith('ack');
        const answer = await fetch(gateway + path, {
          method: post ? 'POST' : 'GET',
          headers: { 'content-type': 'application/json' },
          ...(post ? { body: JSON.stringify({ learner_epoch: 1, checkpoint: 'of the first' }) } : {}),
        });
        expect([path, answer.status]).toEqual([path, 409]);
        expect(await answer.json()).toMatchObject({ code: 'STALE_LEARNER' });
      }
      expect(new Set(first.trained).size).toBe(first.trained.length);
      await second.kill();

      // From the backup: all later batches are offered again.
      const third = await start('third', backup);
      await acknowledged(3, 4);
      const changed = await fetch(`${gateway}/commands`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ command: 'CHANGE', change: { target: { batches: 4 } } }),
      });
      expect(changed.status).toBe(200);
      expect((await ended(run)).state).toBe('COMPLETED');
      await third.logged('run ended', WAIT);
      expect(third.trained).toEqual(third.trained.map((_, index) => index + 2));
      expect(third.trained.length).toBeGreaterThanOrEqual(3);

      const offered = new Map<number, string>();
      for (const batch of seen.of('batch.offered', run)) {
        const bytes = createHash('sha256')
          .update(JSON.stringify([batch.batch_id, batch.partial, batch.digest, batch.entries]))
          .digest('hex');
        expect(offered.get(batch.seq) ?? bytes, batch.batch_id).toBe(bytes);
        offered.set(batch.seq, bytes);
      }
      expect(seen.of('batch.offered', run).some(({ seq, learner_epoch }) => seq === 2 && learner_epoch === 3)).toBe(
        true,
      );
      const last = seen.of('batch.trained', run).findLast(({ learner_epoch }) => learner_epoch === 3);
      const lineage = JSON.parse(readFileSync(join(backup, 'runs', run, `${last?.checkpoint ?? ''}.json`), 'utf8')) as {
        batches: Record<string, string>;
      };
      expect(Object.keys(lineage.batches).map(Number)).toEqual([1, ...third.trained]);
      for (const { seq, digest } of seen.of('batch.offered', run))
        if (seq <= (last?.seq ?? 0)) expect(lineage.batches[String(seq)]).toBe(digest);
      await third.kill();
      await auditIsClean(run);
    },
    4 * WAIT,
  );
});

it(
  'holds results while the object store is full, refuses new packages by name, and goes on when there is space',
  async () => {
    const gate = await heldGate();
    await evaluate('disk-full', ['rate-limiter', 'log-level'].map(example), {
      harness: 'mini',
      policy: { model: 'reference', endpoint: gate.endpoint, max_tokens: 4096, timeout: '5m' },
    });
    await gate.asked();
    disk.fill();
    try {
      gate.open();
      const log = join(session.dir, 'logs', 'rollout-runner.log');
      await expect
        .poll(() => readFileSync(log, 'utf8').includes('OBJECT_STORE_FULL'), { timeout: WAIT, interval: 200 })
        .toBe(true);
      const [task = ''] = tasksOf('disk-full', { more: {} });
      const published = await session.cli('tasks', 'publish', '--run', 'disk-full', task, '--json');
      expect(published.code).toBe(3);
      expect(published.stderr).toContain('OBJECT_STORE_FULL');
      expect(seen.of('trajectory.recorded', 'disk-full')).toEqual([]);
    } finally {
      disk.free();
    }
    expect((await ended('disk-full')).state).toBe('COMPLETED');
    for (const task of ['rate-limiter', 'log-level']) expect(endings('disk-full', task)).toEqual(['DELIVERED']);
    await auditIsClean('disk-full');
    expect(session.plane.status().filter(({ restarts, state }) => restarts > 0 || state !== 'ready')).toEqual([]);
  },
  3 * WAIT,
);
