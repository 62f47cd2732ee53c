import { SandboxClient } from '@espalier/sandbox-client';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const REPOSITORY = resolve(import.meta.dirname, '../../../..');

/** A port that was free a moment ago, below the range from which outgoing connections get theirs. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 19_000);
    const server = createServer();
    server.listen(port, '127.0.0.1');
    const free = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    server.close();
    if (free) return port;
  }
}

/** Builds what the suite runs: the agent as a static binary, the manager as JavaScript. Both builds are incremental. */
export function buildPrograms(directory: string): string {
  const agent = join(directory, 'sandbox-agent');
  execFileSync('go', ['build', '-o', agent, './apps/sandbox-agent'], {
    cwd: REPOSITORY,
    env: { ...process.env, CGO_ENABLED: '0' },
    stdio: 'inherit',
  });
  const compiler = join(REPOSITORY, 'node_modules', 'typescript', 'bin', 'tsc');
  execFileSync(process.execPath, [compiler, '-b', 'apps/sandbox-manager/tsconfig.lib.json'], {
    cwd: REPOSITORY,
    stdio: 'inherit',
  });
  return agent;
}

let agentBinary: string | undefined;

/** A manager in a process of its own, with its own state directory, for tests that kill it. */
export class ManagerProcess {
  readonly directory = mkdtempSync(join(tmpdir(), 'espalier-manager-'));
  readonly key = 'test-key';
  #child: ChildProcess | null = null;
  #port = 0;
  #metricsPort = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get metricsUrl(): string {
    return `http://127.0.0.1:${this.#metricsPort}`;
  }

  get stateDir(): string {
    return join(this.directory, 'state');
  }

  get objectsUrl(): string {
    return `file://${join(this.directory, 'objects')}`;
  }

  async start(more: Readonly<Record<string, string>> = {}): Promise<void> {
    // Once a process: a second manager of the same suite uses the first one's.
    agentBinary ??= buildPrograms(this.directory);
    if (this.#port === 0) [this.#port, this.#metricsPort] = await Promise.all([freePort(), freePort()]);
    const child = spawn(process.execPath, [join(REPOSITORY, 'apps/sandbox-manager/dist/main.js')], {
      cwd: this.directory,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        ESPALIER_KAFKA_BROKERS: 'none',
        ESPALIER_PLANE_DIR: this.directory,
        ESPALIER_STATE_DIR: this.stateDir,
        ESPALIER_OBJECTS: this.objectsUrl,
        ESPALIER_AGENT_BINARY: agentBinary,
        ESPALIER_SANDBOX_API_KEY: this.key,
        ESPALIER_HTTP_PORT: String(this.#port),
        ESPALIER_METRICS_PORT: String(this.#metricsPort),
        ESPALIER_LOG_LEVEL: 'silent',
        ...more,
      },
    });
    let complaint = '';
    child.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
    for (let tries = 0; ; tries += 1) {
      if (child.exitCode !== null || tries > 600) throw new Error(`the manager did not start: ${complaint}`);
      try {
        const response = await fetch(`${this.url}/health`);
        if (response.ok) {
          this.#child = child;
          return;
        }
      } catch {
        await delay(50);
      }
    }
  }

  client(): SandboxClient {
    return new SandboxClient({ baseUrl: this.url, apiKey: this.key });
  }

  /** Ends the process and waits for it. */
  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  /** Everything of this manager's sandboxes that is left on the machine. */
  leftovers(): { readonly processes: string[]; readonly mounts: string[]; readonly directories: string[] } {
    const processes = this.#pids().map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '));
    const mounts = readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .filter((line) => line.includes(this.directory));
    const below = (path: string): string[] => {
      try {
        return readdirSync(join(this.stateDir, path)).map((name) => join(path, name));
      } catch {
        return [];
      }
    };
    return { processes, mounts, directories: [...below('sandboxes'), ...below('sock')] };
  }

  /** Processes of its sandboxes: outer ones name its state in their command line, inner ones have it in their mounts. */
  #pids(): number[] {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => {
        try {
          return ['cmdline', 'mountinfo'].some((file) =>
            readFileSync(`/proc/${pid}/${file}`, 'utf8').includes(`${this.stateDir}/`),
          );
        } catch {
          return false;
        }
      });
  }

  /** Through the API, which also removes control groups. */
  async #deleteAll(): Promise<void> {
    if (!this.#child) return;
    const headers = { 'x-api-key': this.key };
    const answer = await fetch(`${this.url}/v1/sandboxes`, { headers });
    const { sandboxes } = (await answer.json()) as { sandboxes: { sandbox_id: string }[] };
    await Promise.all(
      sandboxes.map(({ sandbox_id: id }) => fetch(`${this.url}/sandboxes/${id}`, { method: 'DELETE', headers })),
    );
  }

  /** Ends the manager, its sandboxes and its directory. */
  async dispose(): Promise<void> {
    await this.#deleteAll();
    await this.end('SIGTERM');
    for (const pid of this.#pids()) process.kill(pid, 'SIGKILL');
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }
}
