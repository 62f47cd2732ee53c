import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { dirname } from 'node:path';

/**
 * A log that its process writes itself, in append mode: what a process says last is kept even when its supervisor is
 * already gone. One older generation is kept beside it (`.1`).
 */
export class LogFile {
  readonly path: string;
  readonly maxBytes: number;

  /**
   * @param path   where the log lies; its folder is made.
   * @param maxBytes size from which on the file is rotated.
   */
  constructor(path: string, maxBytes = 16 * 1024 * 1024) {
    this.path = path;
    this.maxBytes = maxBytes;
    mkdirSync(dirname(path), { recursive: true });
  }

  /** Opens the file for appending; the caller closes it with {@link LogFile.close} after the process has started. */
  open(): number {
    if (this.#size() >= this.maxBytes) renameSync(this.path, `${this.path}.1`);
    return openSync(this.path, 'a');
  }

  /** Closes this process's copy of a descriptor from {@link LogFile.open}. */
  close(fd: number): void {
    closeSync(fd);
  }

  /**
   * Rotates the file under a process that holds it open: copied, then truncated. Lines written in between are lost; the
   * alternative is a pipe through the supervisor, which loses the last words of every process when the supervisor dies.
   */
  rotateIfLarge(): void {
    if (this.#size() < this.maxBytes) return;
    copyFileSync(this.path, `${this.path}.1`);
    truncateSync(this.path, 0);
  }

  /** The last `bytes` of the log, cut at the beginning of a line. */
  tail(bytes = 4_000): string {
    const size = this.#size();
    if (size === 0) return '';
    const start = Math.max(0, size - bytes);
    const buffer = Buffer.alloc(size - start);
    const fd = openSync(this.path, 'r');
    try {
      readSync(fd, buffer, 0, buffer.length, start);
    } finally {
      closeSync(fd);
    }
    const text = buffer.toString('utf8');
    return start === 0 ? text : text.slice(text.indexOf('\n') + 1);
  }

  #size(): number {
    return existsSync(this.path) ? statSync(this.path).size : 0;
  }
}
