import { open } from 'node:fs/promises';

/**
 * Makes renames durable. A sync serves every rename that was done before it began: those that come while one is under way share the
 * next, so that many puts at the same time cost few syncs, and none returns before its own rename is on disk.
 */
export class DirectorySync {
  readonly #sync: (directory: string) => Promise<void>;
  readonly #running = new Map<string, Promise<void>>();
  readonly #next = new Map<string, Promise<void>>();

  constructor(sync: (directory: string) => Promise<void> = syncDirectory) {
    this.#sync = sync;
  }

  /** Resolves when everything renamed in `directory` before this call is durable. Throws what fsync does. */
  sync(directory: string): Promise<void> {
    const running = this.#running.get(directory);
    if (running === undefined) return this.#begin(directory);
    const waiting = this.#next.get(directory);
    if (waiting !== undefined) return waiting;
    const next = running
      .catch(() => undefined)
      .then(() => {
        this.#next.delete(directory);
        return this.#begin(directory);
      });
    this.#next.set(directory, next);
    return next;
  }

  #begin(directory: string): Promise<void> {
    const running = this.#sync(directory).finally(() => {
      if (this.#running.get(directory) === running) this.#running.delete(directory);
    });
    this.#running.set(directory, running);
    return running;
  }
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
