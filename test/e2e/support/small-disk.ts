import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, rmSync, symlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const MOUNT = '/mnt';

/**
 * A file system of a few MiB under a path, so that it can be full without hurting anything else. It lives in the mount
 * namespace of one sleeping process: no mount of the machine changes, no root is needed, and it ends with that process.
 */
export class SmallDisk {
  readonly #holder: ChildProcess;
  readonly #path: string;

  private constructor(holder: ChildProcess, path: string) {
    this.#holder = holder;
    this.#path = path;
  }

  /** Lays a file system of `bytes` at `path`, which must not exist. */
  static async at(path: string, bytes: number): Promise<SmallDisk> {
    const flags = ['--dev-bind', '/', '/', '--size', String(bytes), '--tmpfs', MOUNT, '--die-with-parent'];
    const holder = spawn('bwrap', [...flags, 'sh', '-c', 'echo $$; exec sleep infinity'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const pid = await new Promise<string>((resolve, reject) => {
      holder.stdout.once('data', (line: Buffer) => resolve(line.toString().trim()));
      holder.once('error', reject);
      holder.once('exit', (code) => reject(new Error(`bwrap ended with ${code} before its file system was there`)));
    });
    symlinkSync(`/proc/${pid}/root${MOUNT}`, path);
    return new SmallDisk(holder, path);
  }

  /** Fills it to the last page. */
  fill(): void {
    const file = openSync(this.#filler, 'a');
    try {
      for (const size of [1 << 16, 1 << 12])
        for (const block = Buffer.alloc(size); ;)
          try {
            if (writeSync(file, block) < size) break;
          } catch (error) {
            if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
            break;
          }
    } finally {
      closeSync(file);
    }
  }

  /** Gives the space back that `fill` took. */
  free(): void {
    rmSync(this.#filler, { force: true });
  }

  close(): void {
    rmSync(this.#path, { force: true });
    this.#holder.kill('SIGKILL');
  }

  get #filler(): string {
    return join(this.#path, 'filler');
  }
}
