import { afterEach, describe, expect, it } from 'vitest';
import { RootedSandbox } from '../../test-support/rooted-sandbox.ts';
import { taskFilesOf } from '../../test-support/task-builder.ts';
import type { VerifierSandbox } from '../sandbox-port.ts';
import { parseTask } from '../task-directory/parse-task.ts';
import { verifyTask } from './verify-task.ts';

const open: RootedSandbox[] = [];
afterEach(async () => {
  for (const sandbox of open.splice(0)) await sandbox.close();
});

/** A task whose test script is `script`, and a fresh sandbox for it. */
async function given(script: string, config = ''): Promise<[RootedSandbox, ReturnType<typeof parseTask>]> {
  const files = taskFilesOf({
    'tests/test.sh': `#!/bin/bash\n${script}\n`,
    'task.toml': `[task]\nname = "a/b"\n${config}`,
  });
  const sandbox = await RootedSandbox.open(files);
  open.push(sandbox);
  return [sandbox, parseTask(files)];
}

describe('verifyTask', () => {
  it('scores what the tests wrote and ignores how they ended', async () => {
    const result = await verifyTask(...(await given('echo checking; echo 1 >/logs/verifier/reward.txt; exit 3')));
    expect(result).toMatchObject({
      status: 'SCORED',
      score: 1,
      rewards: { reward: 1 },
      run: { exitCode: 3, timedOut: false, output: 'checking\n' },
    });
  });

  it('runs in the working directory with the environment of the task', async () => {
    const script = '[ "$(cat value)" = 1 ] && [ "$MODE" = strict-x ] && echo 1 >/logs/verifier/reward.txt';
    const [sandbox, task] = await given(script, '[verifier.env]\nMODE = "${LEVEL}-${TAIL:-x}"\n');
    expect(await verifyTask(sandbox, task, { values: { LEVEL: 'strict' } })).toMatchObject({ score: 1 });
    expect(await verifyTask(sandbox, task)).toMatchObject({
      status: 'INFRA_ERROR',
      failure: { class: 'INFRA', code: 'TASK_ENV_UNSET', retryable: false },
    });
  });

  it('removes rewards and tests that the work left behind', async () => {
    const [sandbox, task] = await given('[ ! -e /tests/planted.py ] || echo 1 >/logs/verifier/reward.txt');
    await sandbox.putFile('/logs/verifier/reward.txt', Buffer.from('1'));
    await sandbox.putFile('/logs/verifier/reward.json', Buffer.from('{"reward": 1}'));
    await sandbox.putFile('/tests/planted.py', Buffer.from(''));
    expect(await verifyTask(sandbox, task)).toMatchObject({
      status: 'INVALID',
      failure: { class: 'SUSPECT', code: 'REWARD_FILE_MISSING', stage: 'verifier' },
    });
  });

  it('prefers reward.json', async () => {
    const script = `echo 0 >/logs/verifier/reward.txt; echo '{"speed": 0.5, "reward": 1}' >/logs/verifier/reward.json`;
    const [sandbox, task] = await given(script);
    expect(await verifyTask(sandbox, task)).toMatchObject({ score: 1, rewards: { speed: 0.5, reward: 1 } });
    expect(await verifyTask(sandbox, task, { rewardKey: 'speed' })).toMatchObject({ score: 0.5 });
  });

  it('does not read a huge reward', async () => {
    const result = await verifyTask(...(await given('head -c 100000 /dev/zero >/logs/verifier/reward.txt')));
    expect(result).toMatchObject({ status: 'INVALID', failure: { code: 'REWARD_UNPARSABLE' } });
  });

  it('tells a time-out from a score, even when a reward was written', async () => {
    const [sandbox, task] = await given('echo started; echo 1 >/logs/verifier/reward.txt; sleep 600');
    expect(await verifyTask(sandbox, task, { timeoutMs: 500 })).toMatchObject({
      status: 'TIMEOUT',
      failure: { class: 'SUSPECT', code: 'VERIFIER_TIMEOUT' },
      run: { timedOut: true, output: 'started\n' },
    });
  });

  it('keeps the end of a long output', async () => {
    const result = await verifyTask(...(await given('seq 1 100000; echo 0 >/logs/verifier/reward.txt')));
    expect(result.run?.output.length).toBeLessThanOrEqual(32_768);
    expect(result.run?.output.endsWith('100000\n')).toBe(true);
  });

  it.each(['exec', 'putArchive', 'getFile'] as const)(
    'calls a broken %s infrastructure, never a score',
    async (call) => {
      const [sandbox, task] = await given('echo 1 >/logs/verifier/reward.txt');
      const broken: VerifierSandbox = {
        exec: (request) => sandbox.exec(request),
        putFile: (path, content, mode) => sandbox.putFile(path, content, mode),
        putArchive: (path, tar) => sandbox.putArchive(path, tar),
        getFile: (path) => sandbox.getFile(path),
        [call]: () => Promise.reject(new Error('connection lost')),
      };
      expect(await verifyTask(broken, task)).toMatchObject({
        status: 'INFRA_ERROR',
        failure: { class: 'INFRA', code: 'VERIFIER_SANDBOX', message: 'connection lost', retryable: true },
      });
    },
  );
});
