import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts, nodeBinary, repositoryRoot, type Plane } from '@espalier/local-plane';

/** One line of a learner's log. */
export type LearnerLine = Readonly<Record<string, unknown>> & { readonly msg?: string };

/** A reference learner beside the plane's own, for one run: it is not started again when it is killed. */
export class LearnerProcess {
  readonly lines: LearnerLine[] = [];
  readonly #child: ChildProcess;
  readonly #waiting = new Set<() => void>();
  #rest = '';

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.on('data', (chunk: Buffer) => this.#read(chunk.toString()));
  }

  /** `stateDir` holds its checkpoints; a learner that shares it goes on from them. */
  static async start(plane: Plane, runId: string, name: string, stateDir: string): Promise<LearnerProcess> {
    const root = repositoryRoot();
    const [http, metrics] = await freePorts(2);
    mkdirSync(stateDir, { recursive: true });
    const child = spawn(nodeBinary(root), [join(root, 'apps/reference-learner/dist/main.js')], {
      cwd: root,
      env: {
        ...process.env,
        ...plane.clientEnvironment,
        ESPALIER_ROLE: 'learner',
        ESPALIER_RUN: runId,
        ESPALIER_INSTANCE: name,
        ESPALIER_STATE_DIR: stateDir,
        ESPALIER_HTTP_PORT: String(http),
        ESPALIER_METRICS_PORT: String(metrics),
        ESPALIER_LOG_LEVEL: 'info',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return new LearnerProcess(child);
  }

  /** Batches that it has trained, in order. */
  get trained(): number[] {
    return this.lines.filter(({ msg }) => msg === 'batch trained').map((line) => Number(line['seq']));
  }

  /** Resolves when it has logged `msg`. */
  async logged(msg: string, timeoutMs: number): Promise<LearnerLine> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const found = this.lines.find((line) => line.msg === msg);
      if (found) return found;
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`learner did not log "${msg}" within ${timeoutMs} ms`);
      await new Promise<void>((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          this.#waiting.delete(done);
          resolve();
        };
        const timer = setTimeout(done, left);
        this.#waiting.add(done);
      });
    }
  }

  /** SIGKILL: nothing is saved or said any more. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines)
      try {
        this.lines.push(JSON.parse(line) as LearnerLine);
      } catch {
        // Not of its logger.
      }
    for (const wake of [...this.#waiting]) wake();
  }
}
