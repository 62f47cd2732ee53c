import { createHash } from 'node:crypto';
import { z } from 'zod';
import { LogitTable } from '../policy-model/logit-table.ts';

/** A policy as of one batch of one run. */
export interface Checkpoint {
  /** `b<seq>-v<version>-<digest>`: what the run knows it by. */
  readonly name: string;
  readonly runId: string;
  /** Last batch trained into it; 0 before the first. */
  readonly seq: number;
  /** Policy version it is served as. */
  readonly version: number;
  /** Digest of each batch trained into its lineage, by seq. */
  readonly batches: ReadonlyMap<number, string>;
  /** The checkpoint it was trained from; null at the start. */
  readonly parent: string | null;
  readonly table: LogitTable;
}

/** A checkpoint file that cannot be used. */
export class CheckpointError extends Error {
  readonly code = 'CHECKPOINT_CORRUPT';
  readonly retryable = false;
}

const FORMAT = 1;
const fileSchema = z.object({
  format: z.literal(FORMAT),
  run_id: z.string(),
  seq: z.int().min(0),
  version: z.int().min(0),
  parent: z.string().nullable(),
  batches: z.record(z.string(), z.string()),
  logits: z.record(z.string(), z.record(z.string(), z.number())),
  digest: z.string(),
});

type Content = Omit<Checkpoint, 'name'>;

const bodyOf = (content: Content): Omit<z.infer<typeof fileSchema>, 'digest'> => ({
  format: FORMAT,
  run_id: content.runId,
  seq: content.seq,
  version: content.version,
  parent: content.parent,
  batches: Object.fromEntries(content.batches),
  logits: content.table.toJSON(),
});

const digestOf = (body: object): string => createHash('sha256').update(JSON.stringify(body)).digest('hex');

const nameOf = (seq: number, version: number, digest: string): string =>
  `b${String(seq).padStart(6, '0')}-v${version}-${digest.slice(0, 12)}`;

/** Names a checkpoint by its content. */
export const checkpointOf = (content: Content): Checkpoint => ({
  ...content,
  name: nameOf(content.seq, content.version, digestOf(bodyOf(content))),
});

/** The policy before any training. */
export const untrained = (runId: string): Checkpoint =>
  checkpointOf({ runId, seq: 0, version: 0, batches: new Map(), parent: null, table: new LogitTable() });

export function encodeCheckpoint(checkpoint: Checkpoint): string {
  const body = bodyOf(checkpoint);
  return JSON.stringify({ ...body, digest: digestOf(body) });
}

/** Reads a checkpoint back. Throws {@link CheckpointError}. */
export function decodeCheckpoint(text: string): Checkpoint {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new CheckpointError('the checkpoint is not JSON; remove it to resume from the one before');
  }
  const file = fileSchema.safeParse(parsed);
  if (!file.success)
    throw new CheckpointError(`the checkpoint has another form: ${file.error.issues[0]?.message ?? ''}`);
  const checkpoint = checkpointOf({
    runId: file.data.run_id,
    seq: file.data.seq,
    version: file.data.version,
    parent: file.data.parent,
    batches: new Map(Object.entries(file.data.batches).map(([seq, digest]) => [Number(seq), digest])),
    table: LogitTable.fromJSON(file.data.logits),
  });
  if (checkpoint.name !== nameOf(file.data.seq, file.data.version, file.data.digest))
    throw new CheckpointError('the content of the checkpoint does not match its digest');
  return checkpoint;
}
