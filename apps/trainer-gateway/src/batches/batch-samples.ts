import { decodeBody } from '@espalier/avro';
import type { BatchEntry, BatchOffered, BatchSampleDraft } from '@espalier/contracts';
import type { ObjectStore } from '@espalier/objects';

/** A share of a batch: trajectory i goes to rank i modulo world. */
export interface Share {
  readonly rank: number;
  readonly world: number;
}

/** Bodies read ahead of the one that is sent. */
const AHEAD = 8;

/** The training samples of a batch in manifest order, read from the trajectories' bodies. Throws ObjectStoreError or DecodeError. */
export async function* samplesOf(
  batch: BatchOffered,
  objects: ObjectStore,
  share: Share = { rank: 0, world: 1 },
): AsyncIterable<BatchSampleDraft> {
  const entries = batch.entries.filter((_, index) => index % share.world === share.rank);
  const reading: Promise<BatchSampleDraft[]>[] = [];
  const begin = (entry: BatchEntry): void => {
    const part = entrySamples(batch, entry, objects);
    // A failure is met in its turn; until then it must not count as unhandled.
    part.catch(() => undefined);
    reading.push(part);
  };
  for (const entry of entries.slice(0, AHEAD)) begin(entry);
  for (let next = AHEAD; reading.length > 0; next += 1) {
    const samples = await reading.shift();
    const entry = entries[next];
    if (entry !== undefined) begin(entry);
    yield* samples ?? [];
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
