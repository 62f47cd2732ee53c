import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { encodeEvent } from '@espalier/avro';
import { afterEach, describe, expect, it } from 'vitest';
import { parseRunFile, readRunFile, RunFileError } from './read-run-file.ts';
import { findTaskDirectories } from './task-directories.ts';

const SMALLEST = `
tasks: [tasks/*]
policy:
  model: tiny
  endpoint: http://127.0.0.1:8000/v1
`;

const problemsIn = (text: string) => {
  try {
    parseRunFile(text, 'run.yaml');
  } catch (error) {
    if (error instanceof RunFileError) return error.problems;
    throw error;
  }
  return [];
};

describe('parseRunFile', () => {
  it('fills in everything that the smallest file leaves out', () => {
    const { config, runId, tasks } = parseRunFile(SMALLEST, 'run.yaml');
    expect(runId).toBeNull();
    expect(tasks).toEqual(['tasks/*']);
    expect(config).toMatchObject({
      purpose: 'TRAIN',
      harnesses: [{ name: 'mini', weight: 1 }],
      policy: { endpoints: ['http://127.0.0.1:8000/v1'], adapter: 'CHAT', temperature: 1 },
      group: { size: 4, budget: 6, mode: 'PER_COMPLETION', stride: 6 },
      batch: { size: 16 },
      scorers: [{ name: 'verifier', version: 'v1', required: true, weight: 1 }],
      repeat_tasks: false,
      close_when_done: true,
    });
  });

  it('gives a configuration that the contract accepts', () => {
    const { config } = parseRunFile(SMALLEST, 'run.yaml');
    const event = { event_id: 'e', occurred_at: 0, producer: 'p', run_id: 'r', config, submitted_by: 'me' };
    expect(() => encodeEvent('run.submitted', event)).not.toThrow();
  });

  it('repeats the tasks of a training run with a target, until it is met', () => {
    const { config } = parseRunFile(`${SMALLEST}target: { batches: 3 }\n`, 'run.yaml');
    expect(config).toMatchObject({
      repeat_tasks: true,
      close_when_done: false,
      target: { batches: 3, pass_rate: null },
    });
  });

  it('reads durations, and scorers by name or in full', () => {
    const { config } = parseRunFile(
      `${SMALLEST}limits: { wall: 90s, setup: 2m }\nscorers: [verifier@v2, { name: rubric, weight: 0.5, deadline: 1h }]\n`,
      'run.yaml',
    );
    expect(config.limits).toMatchObject({ wall_ms: 90_000, setup_ms: 120_000 });
    expect(config.scorers).toMatchObject([
      { name: 'verifier', version: 'v2', required: true, weight: 1 },
      { name: 'rubric', version: 'v1', required: false, weight: 0.5, deadline_ms: 3_600_000 },
    ]);
  });

  it.each([
    ['an unknown key', `${SMALLEST}groups: { size: 4 }\n`, 'groups', 6, /not known/],
    ['an unknown key below', `${SMALLEST}group:\n  size: 4\n  sise: 5\n`, 'group.sise', 8, /not known/],
    ['a wrong type', `${SMALLEST}group:\n  size: four\n`, 'group.size', 7, /number/],
    ['a duration without unit', `${SMALLEST}limits:\n  setup: 1m\n  wall: 90\n`, 'limits.wall', 8, /duration/],
    ['a batch that no groups fill', `${SMALLEST}batch:\n  size: 10\n`, 'batch.size', 7, /multiple/],
    ['a budget below the size', `${SMALLEST}group: { size: 8, budget: 6 }\n`, 'group.budget', 6, /less than/],
    ['repetition without an end', `${SMALLEST}repeat_tasks: true\n`, 'repeat_tasks', 6, /target/],
    ['a key in a list', `${SMALLEST}scorers:\n  - name: verifier\n    weigth: 2\n`, 'scorers.0.weigth', 8, /not known/],
    ['no endpoint', 'policy:\n  model: tiny\n', 'policy', 1, /endpoint/],
    ['no policy', 'purpose: eval\n', 'policy', null, /missing|must be/],
    ['broken YAML', 'policy: { model: tiny\n', '', 2, /./],
    ['a key given twice', 'policy: 1\npolicy: 2\n', '', 2, /unique/],
  ])('names key and line of %s', (_, text, key, line, message) => {
    const [problem] = problemsIn(text);
    expect(problem).toMatchObject({ key, line });
    expect(problem?.message).toMatch(message);
  });

  it('lists every problem at once', () => {
    expect(problemsIn('policy: { model: 3, endpoint: here }\ngroup: { size: 0 }\n').map(({ key }) => key)).toEqual([
      'policy.model',
      'policy.endpoint',
      'group.size',
    ]);
  });

  it('reads the demo, whose tasks are there', async () => {
    const root = resolve(import.meta.dirname, '../../../..');
    const demo = await readRunFile(join(root, 'examples/demo.yaml'));
    expect(demo.config).toMatchObject({
      batch: { size: 16 },
      target: { pass_rate: 0.85, rollouts: 1200 },
      repeat_tasks: true,
    });
    expect(await findTaskDirectories(demo.tasks, join(root, 'examples'))).toHaveLength(8);
  });
});

describe('findTaskDirectories', () => {
  let base: string;
  const make = async (...names: string[]): Promise<void> => {
    base = await mkdtemp(join(tmpdir(), 'cli-tasks-'));
    for (const name of names) {
      await mkdir(join(base, name), { recursive: true });
      await writeFile(join(base, name, 'task.toml'), '');
    }
  };
  afterEach(() => rm(base, { recursive: true, force: true }));

  it('takes names and patterns', async () => {
    await make('tasks/b', 'tasks/a', 'other/c d');
    await mkdir(join(base, 'tasks/no-task'));
    const found = await findTaskDirectories(['tasks/*', { path: 'other/c d', repeat: 3 }], base);
    expect(found.map(({ taskId, repeat }) => [taskId, repeat])).toEqual([
      ['a', 1],
      ['b', 1],
      ['c-d', 3],
    ]);
  });

  it('refuses what is not there, and two of one name', async () => {
    await make('x/a', 'y/a');
    await expect(findTaskDirectories(['z/*'], base)).rejects.toThrow('matches no task directory');
    await expect(findTaskDirectories(['z'], base)).rejects.toThrow('is not a directory');
    await expect(findTaskDirectories(['x/a', 'y/a'], base)).rejects.toThrow('would both be "a"');
    expect(await findTaskDirectories(['x/a', { path: 'y/a', id: 'other' }], base)).toHaveLength(2);
  });
});
