import { createHash, randomBytes } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DriverSandbox } from '../driver.ts';
import { SandboxDriverError } from '../driver.ts';
import { commandLineOf } from './processes.ts';

/** What the local driver keeps of a sandbox besides what others see. */
export interface LocalRecord extends DriverSandbox {
  /** In the command line of the sandbox's outer and inner process: tells them from any that reuse a pid. */
  readonly nonce: string;
  readonly token: string;
  readonly socket: string;
  readonly workdir: string;
  /** Outer process; null before the launch. */
  readonly pid: number | null;
}

/** Longest path that a unix socket may have. */
const MAX_SOCKET_PATH = 100;

/**
 * The state of record of the local driver:
 *
 *     sandboxes/<id>/record.json   what it is (mode 0600: it holds the agent's token)
 *     sandboxes/<id>/journal       accepted jobs, one JSON a line
 *     sandboxes/<id>/launch.*      specification and log of its launch
 *     images/<key>/                layers built from Dockerfiles
 *     manager.lock                 pid of the manager that owns it
 */
export class StateDirectory {
  readonly root: string;
  readonly #sockets: string;
  readonly #lock: string;

  constructor(root: string) {
    this.root = root;
    mkdirSync(join(root, 'sandboxes'), { recursive: true, mode: 0o700 });
    chmodSync(root, 0o700);
    const here = join(root, 'sock');
    // A deep state directory would make socket paths too long for the kernel.
    this.#sockets =
      here.length + 22 <= MAX_SOCKET_PATH ? here : join(tmpdir(), `espalier-${process.getuid?.() ?? 0}-${this.tag}`);
    mkdirSync(this.#sockets, { recursive: true, mode: 0o700 });
    this.#lock = join(root, 'manager.lock');
  }

  /** Short name of this directory, for things outside of it (cgroups). */
  get tag(): string {
    return createHash('sha256').update(this.root).digest('hex').slice(0, 10);
  }

  /** Refuses a second manager. Throws `SANDBOX_STATE_LOCKED`. */
  acquire(): void {
    if (existsSync(this.#lock)) {
      const owner = Number(readFileSync(this.#lock, 'utf8'));
      const line = Number.isInteger(owner) && owner !== process.pid ? commandLineOf(owner) : null;
      if (line !== null && /node/.test(line))
        throw new SandboxDriverError(
          'SANDBOX_STATE_LOCKED',
          `${this.root} is in use by process ${owner}; stop it or set another ESPALIER_STATE_DIR`,
          false,
        );
    }
    writeFileSync(this.#lock, String(process.pid));
  }

  release(): void {
    rmSync(this.#lock, { force: true });
  }

  directoryOf(id: string): string {
    return join(this.root, 'sandboxes', id);
  }

  newSocket(): string {
    return join(this.#sockets, `${randomBytes(8).toString('hex')}.sock`);
  }

  /** Removes sockets that none of these records names. */
  sweepSockets(records: Iterable<LocalRecord>): void {
    const used = new Set([...records].map((record) => record.socket));
    for (const name of readdirSync(this.#sockets)) {
      const path = join(this.#sockets, name);
      if (!used.has(path)) rmSync(path, { force: true });
    }
  }

  read(): LocalRecord[] {
    return this.ids().flatMap((id) => {
      try {
        return [JSON.parse(readFileSync(join(this.directoryOf(id), 'record.json'), 'utf8')) as LocalRecord];
      } catch {
        // A directory without a whole record was being made or removed when the manager died.
        return [];
      }
    });
  }

  ids(): string[] {
    return readdirSync(join(this.root, 'sandboxes'));
  }

  write(record: LocalRecord): void {
    const directory = this.directoryOf(record.id);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const path = join(directory, 'record.json');
    writeFileSync(`${path}.new`, JSON.stringify(record), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }

  async remove(id: string, socket: string | null): Promise<void> {
    if (socket !== null) rmSync(socket, { force: true });
    const path = join(this.directoryOf(id), 'record.json');
    // Without its record the directory is nobody's, whatever interrupts the rest.
    rmSync(path, { force: true });
    await rm(this.directoryOf(id), { recursive: true, force: true, maxRetries: 5 });
  }

  appendJournal(id: string, line: string): void {
    appendFileSync(join(this.directoryOf(id), 'journal'), `${line}\n`);
  }

  readJournal(id: string): string[] {
    try {
      return readFileSync(join(this.directoryOf(id), 'journal'), 'utf8')
        .split('\n')
        .filter((line) => line !== '');
    } catch {
      return [];
    }
  }
}
