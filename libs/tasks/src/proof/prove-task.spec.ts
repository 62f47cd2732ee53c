import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RootedSandbox } from '../../test-support/rooted-sandbox.ts';
import { taskFilesOf } from '../../test-support/task-builder.ts';
import { loadTaskDirectory } from '../task-directory/load-task.ts';
import { parseTask, type LoadedTask } from '../task-directory/parse-task.ts';
import { proveTask, type TaskProof } from './prove-task.ts';

const examples = join(import.meta.dirname, '../../../../examples/tasks');

/** Proves a task and checks that every sandbox that was opened is closed. */
async function prove(task: LoadedTask, repetitions = 2): Promise<TaskProof> {
  let open = 0;
  const proof = await proveTask(
    task,
    {
      open: async () => {
        open += 1;
        const sandbox = await RootedSandbox.open(task.files);
        const close = sandbox.close.bind(sandbox);
        sandbox.close = async () => {
          open -= 1;
          await close();
        };
        return sandbox;
      },
    },
    { repetitions },
  );
  expect(open).toBe(0);
  return proof;
}

describe('proveTask', () => {
  it('proves a task whose solution scores 1 and whose start scores 0, each twice', async () => {
    const proof = await prove(parseTask(taskFilesOf()));
    expect(proof.reasons).toEqual([]);
    expect(proof.proven).toBe(true);
    expect(proof.trials.map(({ policy, repetition }) => `${policy} ${repetition}`)).toEqual([
      'oracle 1',
      'oracle 2',
      'nothing 1',
      'nothing 2',
    ]);
  });

  it('finds tests that pass without any work', async () => {
    const proof = await prove(
      parseTask(taskFilesOf({ 'tests/test.sh': '#!/bin/bash\necho 1 >/logs/verifier/reward.txt\n' })),
    );
    expect(proof.proven).toBe(false);
    expect(proof.reasons).toEqual([
      'nothing, trial 1: scored 1 instead of 0',
      'nothing, trial 2: scored 1 instead of 0',
    ]);
  });

  it('finds a solution that fails or does not solve', async () => {
    const proof = await prove(parseTask(taskFilesOf({ 'solution/solve.sh': '#!/bin/bash\nexit 4\n' })), 1);
    expect(proof.reasons).toEqual([
      'oracle, trial 1: the solution ended with 4 (see /logs/agent/oracle.txt)',
      'oracle, trial 1: scored 0 instead of 1',
    ]);
  });

  it('finds artifacts that do not hold the work', async () => {
    const config = 'artifacts = ["/app/other"]\n[task]\nname = "a/b"\n[verifier]\nenvironment_mode = "separate"\n';
    const proof = await prove(parseTask(taskFilesOf({ 'task.toml': config })), 1);
    expect(proof.reasons).toEqual(['oracle, trial 1: scored 0 instead of 1']);
  });

  it('finds tests that write no reward', async () => {
    const proof = await prove(parseTask(taskFilesOf({ 'tests/test.sh': '#!/bin/bash\nexit 0\n' })), 1);
    expect(proof.reasons.map((reason) => reason.replace(/: The tests.*/, ''))).toEqual([
      'oracle, trial 1: REWARD_FILE_MISSING',
      'nothing, trial 1: REWARD_FILE_MISSING',
    ]);
  });

  it('asks for a solution', async () => {
    const proof = await prove(parseTask(taskFilesOf({ 'solution/solve.sh': null })));
    expect(proof).toMatchObject({ proven: false, reasons: ['it has no solution/solve.sh'], trials: [] });
  });
});

describe('the example tasks', async () => {
  const slugs = (await readdir(examples, { withFileTypes: true })).filter((entry) => entry.isDirectory());

  it('are many', () => {
    expect(slugs.length).toBeGreaterThanOrEqual(24);
  });

  it.each(slugs.map(({ name }) => name))('%s is proven', async (slug) => {
    const task = await loadTaskDirectory(join(examples, slug));
    expect(task.notices).toEqual([]);
    const proof = await prove(task, 1);
    expect(proof.reasons).toEqual([]);
  });
});
