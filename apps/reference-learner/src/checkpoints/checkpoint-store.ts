import { mkdir, readdir, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { CheckpointError, decodeCheckpoint, encodeCheckpoint, type Checkpoint } from './checkpoint.ts';
import { writeDurably } from './durable-file.ts';

/** How many checkpoints of a run are kept. */
const KEPT = 8;

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** Durable checkpoints, one folder a run. */
export class CheckpointStore {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  #folder(runId: string): string {
    return join(this.#root, 'runs', runId);
  }

  /** Durable when it resolves. Older ones beyond the last few are removed. */
  async save(checkpoint: Checkpoint): Promise<void> {
    const folder = this.#folder(checkpoint.runId);
    await mkdir(folder, { recursive: true });
    await writeDurably(join(folder, `${checkpoint.name}.json`), encodeCheckpoint(checkpoint));
    const names = await this.names(checkpoint.runId);
    for (const name of names.filter((one) => one !== checkpoint.name).slice(KEPT - 1))
      await unlink(join(folder, `${name}.json`)).catch(() => undefined);
  }

  /** Names of a run's checkpoints, newest batch first. */
  async names(runId: string): Promise<string[]> {
    try {
      const files = await readdir(this.#folder(runId));
      return files
        .filter((file) => /^b\d+-v\d+-[0-9a-f]+\.json$/.test(file))
        .map((file) => file.slice(0, -'.json'.length))
        .sort(byBatch);
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  /** Throws `CHECKPOINT_CORRUPT` for a file that cannot be used. */
  async load(runId: string, name: string): Promise<Checkpoint> {
    const checkpoint = decodeCheckpoint(await readFile(join(this.#folder(runId), `${name}.json`), 'utf8'));
    if (checkpoint.name !== name || checkpoint.runId !== runId)
      throw new CheckpointError(`checkpoint ${name} of run ${runId} holds ${checkpoint.name} of ${checkpoint.runId}`);
    return checkpoint;
  }

  /** A run's usable checkpoints, newest batch first; corrupt ones are passed over and told. */
  async usable(runId: string, onCorrupt: (name: string, error: CheckpointError) => void): Promise<Checkpoint[]> {
    const checkpoints: Checkpoint[] = [];
    for (const name of await this.names(runId)) {
      try {
        checkpoints.push(await this.load(runId, name));
      } catch (error) {
        if (!(error instanceof CheckpointError)) throw error;
        onCorrupt(name, error);
      }
    }
    return checkpoints;
  }
}

function byBatch(a: string, b: string): number {
  const key = (name: string): [number, number] => {
    const [, seq = '0', version = '0'] = /^b(\d+)-v(\d+)/.exec(name) ?? [];
    return [Number(seq), Number(version)];
  };
  const [seqA, versionA] = key(a);
  const [seqB, versionB] = key(b);
  return seqB - seqA || versionB - versionA;
}
