import { harnessFor, type HarnessExit } from '@espalier/harnesses';
import { SandboxCreateError, SandboxLostError, SandboxRequestError } from '@espalier/sandbox-client';
import { ObjectStoreError } from '@espalier/objects';
import { TaskPackageError, WorkspaceError } from '@espalier/tasks';
import { describe, expect, it } from 'vitest';
import { failureOf, type Stage } from './failures.ts';
import { cancelled, failed, isScorable, outcomeOf, truncated } from './outcome.ts';

const exit = (change: Partial<HarnessExit> = {}): HarnessExit => ({
  exitCode: 0,
  signal: null,
  timedOut: false,
  stdoutTail: '',
  stderrTail: '',
  ...change,
});
const mini = harnessFor('mini');
const infra = { class: 'INFRA', code: 'LLM_TIMEOUT', message: 'slow', stage: 'model', retryable: true } as const;

describe('outcomeOf', () => {
  it('believes the gateway before the exit code', () => {
    const end = { harness: mini, exit: exit({ exitCode: 3 }), gatewayFailure: infra, budget: null };
    expect(outcomeOf(end)).toEqual({ status: 'FAILED', stopReason: 'LLM_TIMEOUT', failure: infra });
  });

  it.each(['MODEL_CALLS', 'TOKENS', 'CONTEXT'] as const)('names the budget %s whatever the exit code', (budget) => {
    for (const exitCode of [0, 1, 3]) {
      const outcome = outcomeOf({ harness: mini, exit: exit({ exitCode }), gatewayFailure: null, budget });
      expect([outcome.status, outcome.stopReason, outcome.failure?.class]).toEqual(['TRUNCATED', budget, 'BUDGET']);
    }
  });

  it('names the wall clock', () => {
    const timedOut = exit({ exitCode: null, timedOut: true });
    expect(outcomeOf({ harness: mini, exit: timedOut, gatewayFailure: null, budget: null }).stopReason).toBe(
      'WALL_CLOCK',
    );
  });

  it('leaves the rest to the harness', () => {
    const end = (exitCode: number) =>
      outcomeOf({ harness: mini, exit: exit({ exitCode }), gatewayFailure: null, budget: null });
    expect(end(0)).toEqual({ status: 'COMPLETED', stopReason: 'SUBMITTED', failure: null });
    expect([end(1).status, end(1).failure?.class]).toEqual(['FAILED', 'INFRA']);
  });
});

describe('isScorable', () => {
  it('is so for what the policy or its budget ended', () => {
    expect(isScorable({ status: 'COMPLETED', stopReason: 'SUBMITTED', failure: null })).toBe(true);
    expect(isScorable(truncated('TOKENS'))).toBe(true);
    expect(isScorable(failed({ ...infra, class: 'POLICY' }))).toBe(true);
    expect(isScorable(failed(infra))).toBe(false);
    expect(isScorable(cancelled('GROUP_FULL'))).toBe(false);
  });
});

describe('failureOf', () => {
  it.each<[string, unknown, Stage, string, boolean]>([
    ['a package that is none', new TaskPackageError('cut short'), 'package', 'TASK_PACKAGE_INVALID', false],
    ['a missing package', new ObjectStoreError('OBJECT_MISSING', 'gone'), 'package', 'OBJECT_MISSING', false],
    ['a failed create', new SandboxCreateError('no room', true), 'sandbox', 'SANDBOX_CREATE', true],
    ['a refused create', new SandboxRequestError('no payload', 422), 'sandbox', 'SANDBOX_CREATE', false],
    ['a lost sandbox', new SandboxLostError('gone'), 'harness', 'SANDBOX_LOST', true],
    ['a snapshot', new WorkspaceError('tar'), 'snapshot', 'SNAPSHOT_FAILED', true],
    [
      'a full store',
      new ObjectStoreError('OBJECT_STORE_FULL', 'full', { retryable: true }),
      'record',
      'OBJECT_STORE_FULL',
      true,
    ],
    ['a bug', new TypeError('undefined is not'), 'harness', 'RUNNER_ERROR', true],
  ])('is infrastructure for %s', (_name, error, stage, code, retryable) => {
    expect(failureOf(error, stage)).toMatchObject({ class: 'INFRA', code, retryable, stage });
  });
});
