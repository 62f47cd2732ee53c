import { decodeBody } from '@espalier/avro';
import type { BatchEntry, BatchOffered, BatchSampleDraft } from '@espalier/contracts';
import type { ObjectStore } from '@espalier/objects';

/** A share of a batch: trajectory i goes to rank i modulo world. */
export interface Share {
  readonly rank: number;
  readonly world: number;
}

/** Bodies fetched at the same time. */
const PARALLEL = 8;

/** The training samples of a batch in manifest order, read from the trajectories' bodies. Throws ObjectStoreError or DecodeError. */
export async function* samplesOf(
  batch: BatchOffered,
  objects: ObjectStore,
  share: Share = { rank: 0, world: 1 },
): AsyncIterable<BatchSampleDraft> {
  const entries = batch.entries.filter((_, index) => index % share.world === share.rank);
  for (let start = 0; start < entries.length; start += PARALLEL) {
    const parts = await Promise.all(
      entries.slice(start, start + PARALLEL).map((entry) => entrySamples(batch, entry, objects)),
    );
    for (const part of parts) yield* part;
  }
}

async function entrySamples(batch: BatchOffered, entry: BatchEntry, objects: ObjectStore): Promise<BatchSampleDraft[]> {
  const body = decodeBody('trajectory.body', await objects.get(entry.body));
  return body.samples.map((sample) => ({
    batch_id: batch.batch_id,
    seq: batch.seq,
    sample_id: sample.sample_id,
    trajectory_id: entry.trajectory_id,
    group_id: entry.group_id,
    task_id: entry.task_id,
    reward: entry.reward,
    advantage: entry.advantage,
    token_ids: sample.token_ids,
    logprobs: sample.logprobs,
    mask_runs: sample.mask_runs,
    version_runs: sample.version_runs,
    instruction: body.instruction,
  }));
}
