import type { BatchTrained, LearnerJoined, PolicyPublished } from '@espalier/contracts';
import { digestOf } from '../state/canonical.ts';
import { offer } from './batches.ts';
import { headOf, report, writeHead, type KnownRun } from './context.ts';
import {
  batchKey,
  checkpointKey,
  policyKey,
  policyPrefix,
  type BatchRecord,
  type CheckpointRecord,
  type PolicyRecord,
} from './entries.ts';
import { settle, type Verdict } from './verdicts.ts';

/** A learner opens a session: it is offered every batch after its checkpoint again, byte-identical. */
export function onJoined(run: KnownRun, event: LearnerJoined): void {
  const base = seqOf(run, event.checkpoint);
  if (base === undefined) {
    settle(run, event.command_id, 'LEARNER', {
      accepted: false,
      code: 'CHECKPOINT_UNKNOWN',
      message: `no batch of this run was acknowledged with checkpoint "${event.checkpoint ?? ''}"`,
    });
    return;
  }
  const head = headOf(run);
  writeHead(run, { learnerEpoch: head.learnerEpoch + 1, learnerId: event.learner_id, trainedSeq: base });
  settle(run, event.command_id, 'LEARNER', {
    accepted: true,
    code: null,
    message: '',
    learnerEpoch: head.learnerEpoch + 1,
    nextSeq: base + 1,
  });
  for (let seq = base + 1; seq <= head.offeredSeq; seq += 1) {
    const record = run.work.get<BatchRecord>(batchKey(run.runId, seq));
    if (record) offer(run, record);
  }
}

const seqOf = (run: KnownRun, checkpoint: string | null): number | undefined =>
  checkpoint === null ? 0 : run.work.get<CheckpointRecord>(checkpointKey(run.runId, digestOf(checkpoint)))?.seq;

/** An acknowledgement: every batch up to seq is contained in a durable checkpoint. */
export function onTrained(run: KnownRun, event: BatchTrained): void {
  const head = headOf(run);
  const refuse = (code: string, message: string): void =>
    settle(run, event.command_id, 'TRAINED', { accepted: false, code, message });
  if (event.learner_epoch !== head.learnerEpoch) {
    refuse('STALE_LEARNER', `session ${event.learner_epoch} has ended; ${head.learnerEpoch} is the current one`);
    return;
  }
  if (event.seq > head.offeredSeq) {
    refuse('BATCH_UNKNOWN', `batch ${event.seq} was not offered; ${head.offeredSeq} is the last`);
    return;
  }
  const record: CheckpointRecord = { checkpoint: event.checkpoint, seq: Math.max(event.seq, head.trainedSeq) };
  run.work.put(checkpointKey(run.runId, digestOf(event.checkpoint)), 'checkpoint', record);
  writeHead(run, { trainedSeq: record.seq });
  countVersions(run);
  settle(run, event.command_id, 'TRAINED', { accepted: true, code: null, message: '' });
}

/** A policy version is about to be served, or is. */
export function onPublished(run: KnownRun, event: PolicyPublished): void {
  const head = headOf(run);
  const verdict = judgePublication(run, event);
  if (verdict.accepted && event.phase === 'READY') {
    const record: PolicyRecord = {
      version: event.version,
      afterBatch: event.after_batch,
      checkpoint: event.checkpoint,
      endpoints: event.endpoints,
    };
    run.work.put(policyKey(run.runId, event.version), 'policy', record);
    writeHead(run, { newestVersion: Math.max(head.newestVersion, event.version) });
    countVersions(run);
  }
  settle(run, event.command_id, 'POLICY', verdict);
}

function judgePublication(run: KnownRun, event: PolicyPublished): Verdict {
  const head = headOf(run);
  if (event.learner_epoch !== null && event.learner_epoch !== head.learnerEpoch)
    return { accepted: false, code: 'STALE_LEARNER', message: `session ${event.learner_epoch} has ended` };
  const known = run.work.get<PolicyRecord>(policyKey(run.runId, event.version));
  if (known && known.afterBatch !== event.after_batch)
    return {
      accepted: false,
      code: 'VERSION_DIFFERS',
      message: `version ${event.version} was published after batch ${known.afterBatch}`,
    };
  if (!known && event.version <= head.newestVersion)
    return {
      accepted: false,
      code: 'VERSION_NOT_NEW',
      message: `version ${head.newestVersion} is published; take a higher one`,
    };
  if (event.after_batch > head.offeredSeq)
    return { accepted: false, code: 'BATCH_UNKNOWN', message: `batch ${event.after_batch} was not offered` };
  return { accepted: true, code: null, message: '' };
}

/** A version counts for admission and staleness once the batches it was trained on are acknowledged. */
function countVersions(run: KnownRun): void {
  const head = headOf(run);
  let counting = head.policyVersion;
  for (const [, record] of run.work.scan<PolicyRecord>(policyPrefix(run.runId)))
    if (record.version > counting && record.afterBatch <= head.trainedSeq) counting = record.version;
  if (counting === head.policyVersion) return;
  writeHead(run, { policyVersion: counting });
  report(run, 'POLICY', { policy_version: counting, message: `version ${counting} counts` });
}
