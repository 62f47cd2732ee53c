import type { TaskFile } from '@espalier/tasks';
import { describe, expect, it } from 'vitest';
import type { HarnessInput } from '../harness.ts';
import { oracle } from './oracle-harness.ts';

const file = (path: string, mode: TaskFile['mode'] = 0o644): TaskFile => ({ path, mode, content: Buffer.from(path) });
const input: HarnessInput = {
  instruction: 'x',
  workdir: '/app',
  baseUrl: 'http://127.0.0.1:4010',
  apiKey: 'token',
  model: 'policy',
  wallMs: 1_000,
  configJson: '{}',
  taskFiles: [
    file('instruction.md'),
    file('solution/solve.sh'),
    file('solution/data/fix.patch'),
    file('tests/test.sh', 0o755),
  ],
  solutionEnv: { MODE: 'fast' },
};

describe('oracle', () => {
  it('uploads the solution alone and runs it in the working directory without the key', () => {
    const plan = oracle.plan(input);
    expect(plan.files.map(({ path }) => path)).toEqual(['/solution/solve.sh', '/solution/data/fix.patch']);
    expect(plan.argv.slice(0, 2)).toEqual(['bash', '-c']);
    expect(plan.argv[2]).toContain('chmod +x /solution/solve.sh');
    expect(plan.argv[2]).toContain('/solution/solve.sh > /logs/agent/oracle.txt 2>&1');
    expect(plan.env).toEqual({ MODE: 'fast' });
    expect(plan.cwd).toBe('/app');
    expect(oracle.callsModel).toBe(false);
  });

  it('needs a solution', () => {
    expect(() => oracle.plan({ ...input, taskFiles: [file('tests/test.sh')] })).toThrow(
      'Harness "oracle": the task has no solution/solve.sh',
    );
  });

  it('holds the task, not a policy, to account for a solution that fails', () => {
    const end = { exitCode: 4, signal: null, timedOut: false, stdoutTail: '', stderrTail: 'no such file' };
    expect(oracle.outcome(end)).toMatchObject({
      status: 'FAILED',
      failure: {
        class: 'SUSPECT',
        code: 'ORACLE_FAILED',
        message: 'The solution ended with exit code 4: no such file',
      },
    });
    expect(oracle.outcome({ ...end, exitCode: 0 })).toEqual({
      status: 'COMPLETED',
      stopReason: 'SUBMITTED',
      failure: null,
    });
  });
});
