import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';

/** Child processes of the counting processor. One that ends by itself with code 3 is started anew, as a supervisor would. */
export class Replicas {
  readonly #brokers: readonly string[];
  readonly #prefix: string;
  readonly #children = new Map<string, ChildProcess>();
  readonly #log: string[] = [];
  #closed = false;

  constructor(brokers: readonly string[], prefix: string) {
    this.#brokers = brokers;
    this.#prefix = prefix;
  }

  start(name: string): void {
    const child = spawn(
      process.execPath,
      [
        '--conditions=@espalier/source',
        '--disable-warning=ExperimentalWarning',
        join(import.meta.dirname, 'counting-process.ts'),
        this.#brokers.join(','),
        this.#prefix,
        name,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    this.#children.set(name, child);
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data: Buffer) => this.#log.push(data.toString()));
    child.on('exit', (code) => {
      this.#log.push(`${name} ended with ${code}\n`);
      if (this.#children.get(name) !== child) return;
      this.#children.delete(name);
      if (code === 3 && !this.#closed) this.start(name);
    });
  }

  signal(name: string, signal: NodeJS.Signals): void {
    const child = this.#children.get(name);
    if (signal === 'SIGKILL') this.#children.delete(name);
    child?.kill(signal);
  }

  alive(name: string): boolean {
    return this.#children.get(name)?.exitCode === null;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(
      [...this.#children.values()].map(async (child) => {
        const ended = new Promise((resolve) => child.once('exit', resolve));
        child.kill('SIGKILL');
        if (child.exitCode === null && child.signalCode === null) await ended;
      }),
    );
  }

  /** What all of them said. */
  log(): string {
    return this.#log.join('');
  }
}
