import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { decodeEvent } from '@espalier/avro';
import { deadTopicOf, topicOf } from '@espalier/contracts';
import type { KafkaPort } from '@espalier/kafka';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { runCli } from '../../../apps/cli/src/program.ts';
import { completeRun, RUN } from '../../../libs/audit/src/fixtures/run-scenario.ts';
import { freshPrefix, open } from '../kafka/open.ts';

/** What a command printed and ended with. */
interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let dir: string;
let prefix: string;

async function espalier(...argv: string[]): Promise<Outcome> {
  let [code, stdout, stderr] = [0, '', ''];
  await runCli([...argv, '--dir', dir, '--brokers', inject('brokers').join(','), '--prefix', prefix], {
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
    environment: { ESPALIER_OBJECTS: pathToFileURL(join(dir, 'objects')).href },
    setExitCode: (given) => (code = given),
  });
  return { code, stdout, stderr };
}

/** The JSON lines of a command. */
async function json(...argv: string[]): Promise<{ lines: Record<string, unknown>[]; code: number }> {
  const { code, stdout, stderr } = await espalier(...argv, '--json');
  const lines = stdout.split('\n').filter((line) => line !== '');
  try {
    return { code, lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
  } catch {
    throw new Error(`not JSON lines: ${stdout} ${stderr}`);
  }
}

/** Writes a complete run to the broker, as the plane would have. */
async function writeRun(kafka: KafkaPort): Promise<void> {
  await kafka.admin.ensureTopics();
  const { log, bodies } = completeRun();
  const producer = kafka.producer();
  const records = [...log.topics].flatMap(([topic, partitions]) =>
    partitions.flat().map((record) => ({ topic, record })),
  );
  records.sort((left, right) => left.record.timestamp - right.record.timestamp);
  for (const { topic, record } of records) {
    const { key, value, headers } = record;
    await producer.sendRaw({
      topic: topicOf(prefix, topic),
      key,
      value,
      headers,
      ...(key === null ? { partition: 0 } : {}),
    });
    if (topic !== 'trajectory.recorded' || value === null) continue;
    const { body } = decodeEvent('trajectory.recorded', value);
    if (body === null) continue;
    const path = join(dir, 'objects', body.key);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, await bodies.get(body));
  }
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'espalier-cli-'));
  prefix = freshPrefix();
  await writeRun(open(prefix));
});

afterAll(() => rm(dir, { recursive: true, force: true }));

describe('commands that read', () => {
  it('list runs, and show one', async () => {
    const { lines, code } = await json('run', 'list');
    expect(code).toBe(0);
    expect(lines).toMatchObject([{ run_id: RUN, state: 'COMPLETED', ended: true, batches_trained: 2 }]);
    const shown = await json('run', 'show', RUN);
    expect(shown.lines[0]).toMatchObject({
      state: 'COMPLETED',
      rollouts: {
        requested: 14,
        running: 0,
        by_outcome: { POOLED: 6, SPARE: 1, REPLACED: 1, CANCELLED: 3, FILTERED: 3 },
      },
      groups: { opened: 5, decided: 5 },
      batches: { offered: 2, trained: 2 },
      scored: 10,
      passed: 4,
    });
    expect((await espalier('run', 'show', RUN)).stdout).toContain('2 offered, 2 trained');
  });

  it('follow an ended run to its end and stop', async () => {
    const { code, stdout } = await espalier('run', 'watch', RUN, '--plain');
    expect(code).toBe(0);
    expect(stdout).toContain('run r1 is completed');
    const { lines } = await json('run', 'watch', RUN);
    expect(lines.filter(({ topic }) => topic === 'batch.offered')).toHaveLength(3);
    expect(lines.at(-1)).toHaveProperty('summary.ended', true);
  });

  it('audit a run from the broker and the object store', async () => {
    const { code, stdout } = await espalier('audit', RUN, '--warnings');
    expect(stdout).toContain('the account is complete');
    expect(stdout).toContain('0 violations, 0 warnings');
    expect(stdout).toMatch(/trained +4/);
    expect(stdout).toContain('(10 bodies)');
    expect(code).toBe(0);
  });

  it('list, show and export trajectories', async () => {
    const { lines } = await json('trajectories', 'list', '--run', RUN, '--passed');
    expect(lines).toHaveLength(4);
    const id = String(lines[0]?.['trajectory_id']);
    const { stdout } = await espalier('trajectories', 'show', id);
    expect(stdout).toContain('→ bash: cat /app/x.py');
    expect(stdout).toContain('sampled in call 1');
    expect(stdout).toContain('It is mended.');
    const file = join(dir, 'out.jsonl');
    expect((await espalier('trajectories', 'export', '--run', RUN, '--out', file, '--tokens')).code).toBe(0);
    const exported = (await readFile(file, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(exported).toHaveLength(10);
    expect(exported[0]).toMatchObject({
      messages: [{ role: 'user' }, { role: 'assistant' }, { role: 'tool' }, { role: 'assistant' }],
    });
    expect(exported[0]).toHaveProperty('samples.0.loss_mask', [0, 0, 1, 1, 1, 0, 1, 1]);
  });

  it('list batches and topics, and tell the status', async () => {
    const { lines } = await json('batches', 'list', '--run', RUN);
    expect(lines).toMatchObject([
      { seq: 1, trajectories: 2, offers: 1, trained: true },
      { seq: 2, trajectories: 2, offers: 2, trained: true },
    ]);
    const topics = await json('topics');
    expect(topics.lines).toContainEqual({
      topic: topicOf(prefix, 'batch.offered'),
      kind: 'fact',
      partitions: 4,
      offsets: 3,
    });
    const { code, stdout } = await espalier('status');
    expect(stdout).toContain(RUN);
    expect(code).toBe(0);
  });

  it('say what they do not find', async () => {
    for (const argv of [
      ['run', 'show', 'nobody'],
      ['run', 'watch', 'nobody'],
      ['audit', 'nobody'],
      ['trajectories', 'show', 'nobody/t/0/r0/a0/t'],
    ]) {
      const { code, stderr } = await espalier(...argv);
      expect(code, argv.join(' ')).toBe(1);
      expect(stderr).toContain('nobody');
    }
    expect((await espalier('run', 'fly')).code).toBe(2);
    expect((await espalier('trajectories', 'list')).code).toBe(2);
  });
});

describe('dead letters', () => {
  it('are listed, shown and replayed where they came from', async () => {
    const kafka = open(prefix);
    const topic = deadTopicOf(prefix, 'trajectory.scored', 'value-reranker');
    const original = topicOf(prefix, 'trajectory.scored');
    const headers = {
      ...{ 'x-original-topic': original, 'x-error-code': 'AVRO_FRAMING', 'x-error-message': 'no header' },
      ...{ 'x-run-id': 'dead-run', 'x-original-partition': '1', 'x-original-offset': '7', 'x-attempt': '3' },
    };
    await kafka.producer().sendRaw({ topic, key: 'dead-run/t/0', value: Buffer.from('nonsense'), headers });
    const { lines } = await json('dead', 'list', '--run', 'dead-run');
    expect(lines).toMatchObject([{ code: 'AVRO_FRAMING', original: `${original}:1:7` }]);
    const ref = String(lines[0]?.['ref']);
    expect((await espalier('dead', 'show', ref)).stdout).toContain(Buffer.from('nonsense').toString('hex'));
    const replayed = await json('dead', 'replay', ref);
    const { partition, offset } = replayed.lines[0] as { partition: number; offset: number };
    const reader = kafka.reader();
    for await (const record of reader.readRange(original, partition, offset, offset + 1)) {
      expect(record.value?.toString()).toBe('nonsense');
      expect(record.headers).toEqual({ 'x-run-id': 'dead-run' });
    }
    expect((await espalier('dead', 'show', 'nothing:0:0')).code).toBe(1);
  });
});

describe('commands that write', () => {
  it('wait for the verdict, and say when it is no', async () => {
    const kafka = open(prefix);
    const processor = kafka.broadcast({
      topics: ['run.commanded'],
      from: 'latest',
      handler: async ({ value }) => {
        const accepted = value.command === 'PAUSE';
        await kafka.producer().send('run.reported', {
          ...{ run_id: value.run_id ?? null, kind: 'VERDICT', state: accepted ? 'PAUSED' : 'COMPLETED' },
          ...{ command_id: value.command_id, accepted, code: accepted ? null : 'RUN_ENDED', message: 'it has ended' },
        });
      },
    });
    await processor.start();
    expect(await espalier('run', 'pause', 'other')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('paused') as string,
    });
    const refused = await espalier('run', 'cancel', 'other', '--reason', 'enough');
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('RUN_ENDED') as string });
  });

  it('submit the run of a file and publish its tasks', async () => {
    const kafka = open(prefix);
    const tasks = resolve(import.meta.dirname, '../../../examples/tasks');
    const file = join(dir, 'small.yaml');
    await writeFile(
      file,
      `tasks: [${tasks}/log-level]\npolicy:\n  model: tiny\n  endpoint: http://127.0.0.1:8000/v1\n`,
    );
    const processor = kafka.broadcast({
      topics: ['run.submitted'],
      from: 'latest',
      handler: async ({ value }) => {
        await kafka.producer().send('run.reported', {
          ...{ run_id: value.run_id ?? null, kind: 'STATE', state: 'ACTIVE', accepted: true, message: 'submitted' },
        });
      },
    });
    await processor.start();
    const { code, lines } = await json('run', 'create', file);
    expect(code).toBe(0);
    expect(lines).toMatchObject([{ run_id: 'small-1', accepted: true, tasks: [{ task_id: 'log-level' }] }]);
    const more = await json('tasks', 'publish', '--run', 'small-1', '--repeat', '2', `${tasks}/leap-year/`);
    expect(more.lines).toMatchObject([{ task_id: 'leap-year', name: 'espalier/leap-year' }]);
    const submitted = [];
    for await (const { value } of kafka.reader().readAll('task.submitted'))
      if (value?.run_id === 'small-1') submitted.push([value.task_id, value.repeat]);
    expect(submitted.sort()).toEqual([
      ['leap-year', 2],
      ['log-level', 1],
    ]);
  });

  it('refuse a wrong file before anything else', async () => {
    const file = join(dir, 'wrong.yaml');
    await writeFile(file, 'policy:\n  model: tiny\n  endpont: x\n');
    const { code, stderr } = await espalier('run', 'create', file);
    expect(code).toBe(2);
    expect(stderr).toContain(`${file}:3: policy.endpont is not known here`);
  });

  it('validate tasks without a sandbox', async () => {
    const tasks = resolve(import.meta.dirname, '../../../examples/tasks');
    await mkdir(join(dir, 'broken'), { recursive: true });
    await writeFile(join(dir, 'broken', 'task.toml'), 'version = [');
    const { code, stdout } = await espalier(
      'tasks',
      'check',
      '--no-proof',
      join(tasks, 'log-level'),
      join(dir, 'broken'),
    );
    expect(code).toBe(1);
    expect(stdout).toContain('1 of 2 tasks are valid');
  });
});

describe('a damaged log', () => {
  it('fails its audit with the place of the damage', async () => {
    const kafka = open(prefix);
    const reader = kafka.reader();
    for await (const { value, partition } of reader.readAll('rollout.ended')) {
      if (value?.run_id !== RUN) continue;
      const { offset } = await kafka.producer().send('rollout.ended', value);
      const { code, stdout } = await espalier('audit', RUN);
      expect(code).toBe(1);
      expect(stdout).toContain('BROKEN  ATTEMPT_ENDED_TWICE');
      expect(stdout).toContain(`at rollout.ended, partition ${partition}, offset ${offset}`);
      break;
    }
  });
});
