import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { decodeCheckpoint, encodeCheckpoint, untrained, type Checkpoint } from '../checkpoints/checkpoint.ts';
import { writeDurably } from '../checkpoints/durable-file.ts';
import type { LogitTable } from '../policy-model/logit-table.ts';

/** The policy version that answers now. */
export interface ServedPolicy {
  readonly model: string;
  /** Run whose training it comes from; empty before any. */
  readonly runId: string;
  readonly version: number;
  readonly checkpoint: string;
  readonly table: LogitTable;
}

/** Run id of a policy that no run has trained. */
const NO_RUN = '';

/** Holds the served version; survives a restart of the server. */
export class PolicyHolder {
  readonly #model: string;
  readonly #path: string;
  #current: ServedPolicy;

  constructor(model: string, path: string) {
    this.#model = model;
    this.#path = path;
    this.#current = this.#serving(untrained(NO_RUN));
  }

  get current(): ServedPolicy {
    return this.#current;
  }

  /** Serves what was served before a restart, if anything. Throws `CHECKPOINT_CORRUPT`. */
  async restore(): Promise<void> {
    try {
      this.#current = this.#serving(decodeCheckpoint(await readFile(this.#path, 'utf8')));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    }
  }

  /** Serves a checkpoint from the next request on; a request in hand ends on the version it began with. */
  async load(checkpoint: Checkpoint): Promise<ServedPolicy> {
    await mkdir(dirname(this.#path), { recursive: true });
    await writeDurably(this.#path, encodeCheckpoint(checkpoint));
    this.#current = this.#serving(checkpoint);
    return this.#current;
  }

  #serving(checkpoint: Checkpoint): ServedPolicy {
    return {
      model: this.#model,
      runId: checkpoint.runId,
      version: checkpoint.version,
      checkpoint: checkpoint.name,
      table: checkpoint.table,
    };
  }
}
