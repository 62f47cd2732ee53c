import { asLogged, runConfig } from '@espalier/testing';
import { expect, it } from 'vitest';
import { RunBoard } from './run-board.ts';

const report = (value: object) =>
  asLogged('run.reported', { run_id: 'r', kind: 'STATE', state: 'ACTIVE', ...value }, 5);

it('folds submissions and reports in any order, and leaves refusals of others out', () => {
  const board = new RunBoard();
  board.onReported(report({ policy_version: 3, trained_seq: 4, learner_epoch: 2, waiting_for: 'learner' }));
  board.onSubmitted(asLogged('run.submitted', { run_id: 'r', config: runConfig(), submitted_by: 'ann' }, 1));
  board.onSubmitted(asLogged('run.submitted', { run_id: 'r', config: runConfig({ seed: 9 }), submitted_by: 'bob' }, 2));
  board.onReported(report({ code: 'RUN_DIFFERS', accepted: false, state: 'REFUSED' }));
  expect(board.get('r')).toMatchObject({
    state: 'ACTIVE',
    submitted_by: 'ann',
    policy_version: 3,
    waiting_for: 'learner',
  });
});

it('gives a verdict to whoever waits for it, and to whoever asks later', async () => {
  const board = new RunBoard();
  const waiting = board.awaitVerdict('r', 'c1', 60_000);
  board.onReported(report({ kind: 'LEARNER', command_id: 'c1', accepted: true, learner_epoch: 2, next_seq: 5 }));
  expect(await waiting).toMatchObject({ accepted: true, learner_epoch: 2, next_seq: 5 });
  expect(board.verdict('r', 'c1')?.next_seq).toBe(5);
  expect(await board.awaitVerdict('r', 'never', 1)).toBeUndefined();
});
