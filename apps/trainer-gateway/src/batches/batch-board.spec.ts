import { asLogged } from '@espalier/testing';
import { expect, it } from 'vitest';
import { BatchBoard } from './batch-board.ts';

const offered = (seq: number, epoch: number) =>
  asLogged(
    'batch.offered',
    {
      run_id: 'r',
      batch_id: `r/batch/${seq}`,
      seq,
      entries: [],
      digest: `d${seq}`,
      policy_version: 0,
      learner_epoch: epoch,
    },
    1,
  );
const reported = (kind: string, epoch: number, trained: number) =>
  asLogged(
    'run.reported',
    { run_id: 'r', kind, state: 'ACTIVE', accepted: true, command_id: 'c', learner_epoch: epoch, trained_seq: trained },
    1,
  );

it('drops what was acknowledged and keeps what a later session was offered again, in either order of arrival', () => {
  const board = new BatchBoard();
  board.onOffered(offered(1, 1));
  board.onOffered(offered(2, 1));
  board.onReported(reported('TRAINED', 1, 1));
  expect(board.get('r', 1)).toBeUndefined();
  expect(board.get('r', 2)?.digest).toBe('d2');

  const late = new BatchBoard();
  late.onOffered(offered(1, 1));
  late.onOffered(offered(1, 2));
  late.onReported(reported('TRAINED', 1, 1));
  expect(late.get('r', 1)?.learner_epoch).toBe(2);
});

it('wakes a waiting learner when a batch is offered', async () => {
  const board = new BatchBoard();
  const woken = board.changed('r', 60_000);
  board.onOffered(offered(1, 1));
  await woken;
  expect(board.get('r', 1)?.seq).toBe(1);
});

it('stops waiting when the client has gone', async () => {
  const gone = new AbortController();
  const woken = new BatchBoard().changed('r', 60_000, gone.signal);
  gone.abort();
  await woken;
  expect(gone.signal.aborted).toBe(true);
});
