import type { FollowOptions, PartitionStream, RecordChunk } from '../processing-port.ts';
import type { Fetched } from '../records/fetched.ts';

const DEFAULT_BUFFER_RECORDS = 500;

/** One followed partition: a bounded queue between the fetch loop and whoever consumes. */
export class BufferedStream implements PartitionStream {
  readonly topic: string;
  readonly partition: number;
  position: number;
  endOffset = -1;
  answeredAt = Date.now();
  buffered = 0;
  closed = false;
  readonly #options: FollowOptions;
  readonly #limit: number;
  readonly #chunks: RecordChunk[] = [];
  readonly #wanted: () => void;
  readonly #onClose: () => void;
  #paused = false;
  #waiters: (() => void)[] = [];

  constructor(options: FollowOptions, wanted: () => void, onClose: () => void) {
    this.topic = options.topic;
    this.partition = options.partition;
    this.position = options.offset;
    this.#options = options;
    this.#limit = options.bufferRecords ?? DEFAULT_BUFFER_RECORDS;
    this.#wanted = wanted;
    this.#onClose = onClose;
  }

  /** Whether the fetch loop should ask for more. */
  get hungry(): boolean {
    return !this.closed && !this.#paused && this.buffered < this.#limit && this.#chunks.length < this.#limit;
  }

  take(): RecordChunk | undefined {
    const wasHungry = this.hungry;
    const chunk = this.#chunks.shift();
    if (chunk === undefined) return undefined;
    this.buffered -= chunk.records.length;
    if (!wasHungry && this.hungry) this.#wanted();
    return chunk;
  }

  ready(): Promise<void> {
    if (this.#chunks.length > 0 || this.closed) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (this.hungry) this.#wanted();
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.#onClose();
    this.#wake();
  }

  /** An answer of the broker for a fetch at `requested`. */
  deliver(requested: number, fetched: Fetched): void {
    if (this.closed || requested !== this.position) return;
    this.answeredAt = Date.now();
    const moved = fetched.nextOffset > this.position;
    const endMoved = fetched.endOffset !== this.endOffset;
    this.position = fetched.nextOffset;
    this.endOffset = fetched.endOffset;
    if (moved) {
      this.#chunks.push({ records: fetched.records, nextOffset: fetched.nextOffset, endOffset: fetched.endOffset });
      this.buffered += fetched.records.length;
    }
    if (!moved && !endMoved) return;
    this.#wake();
    this.#options.onChunk?.();
  }

  /** The position is not in the log: goes on at `to`. */
  jump(to: number): void {
    const from = this.position;
    this.position = to;
    this.#options.onGap?.(from, to);
  }

  #wake(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiters) resolve();
  }
}
