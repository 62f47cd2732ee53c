import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProcessNotReadyError } from '../errors/plane-errors.ts';
import { until } from '../workspace/until.ts';
import { backoffDelay } from './backoff.ts';
import type { BackoffPolicy } from './backoff.ts';
import { LogFile } from './log-file.ts';
import type { ProcessSpec, ProcessState, ProcessStatus } from './process-spec.ts';
import { signalGroup } from './signals.ts';
import type { Warden } from './warden.ts';

/** How many deaths before the first readiness make a start hopeless. */
const HOPELESS_AFTER_DEATHS = 5;

/** One incarnation of the process: from its launch to its end. */
interface Incarnation {
  readonly pid: number;
  readonly since: number;
  readonly ended: Promise<string>;
  readonly over: AbortController;
}

/** Keeps one process running: launches it, watches it, starts it again. Used through {@link Supervisor}. */
export class SupervisedProcess {
  readonly spec: ProcessSpec;
  readonly log: LogFile;
  readonly #warden: Warden;
  readonly #backoff: BackoffPolicy;
  readonly #changed: () => void;
  #state: ProcessState = 'stopped';
  #wanted: AbortController | undefined;
  #loop: Promise<void> = Promise.resolve();
  #current: Incarnation | undefined;
  #startedAt: string | null = null;
  #restarts = 0;
  #deathsInARow = 0;
  #lastExit: string | null = null;
  #everReady = false;

  constructor(spec: ProcessSpec, warden: Warden, backoff: BackoffPolicy, changed: () => void) {
    this.spec = spec;
    this.#warden = warden;
    this.#backoff = backoff;
    this.#changed = changed;
    this.log = new LogFile(spec.logFile);
  }

  get status(): ProcessStatus {
    return {
      name: this.spec.name,
      state: this.#state,
      pid: this.#current?.pid ?? null,
      restarts: this.#restarts,
      startedAt: this.#current === undefined ? null : this.#startedAt,
      lastExit: this.#lastExit,
      logFile: this.spec.logFile,
    };
  }

  /** Starts the process unless it is already wanted. */
  start(): void {
    if (this.#wanted !== undefined) return;
    const wanted = new AbortController();
    this.#wanted = wanted;
    this.#deathsInARow = 0;
    this.#everReady = false;
    this.#loop = this.#keepRunning(wanted.signal);
  }

  /**
   * Waits until the process has become ready.
   *
   * @throws ProcessNotReadyError when it died too often before, or `readyTimeoutMs` have passed.
   */
  async ready(): Promise<void> {
    const timeoutMs = this.spec.readyTimeoutMs ?? 60_000;
    let why = `no answer within ${timeoutMs / 1_000} s`;
    const settled = await until(() => {
      if (this.#state === 'ready') return true;
      if (this.#state === 'failed') why = `it ended (${this.#lastExit})`;
      else if (!this.#everReady && this.#deathsInARow >= HOPELESS_AFTER_DEATHS) {
        why = `it ended ${this.#deathsInARow} times (${this.#lastExit})`;
      } else if (this.#state === 'stopping' || this.#state === 'stopped') why = 'it was stopped';
      else return false;
      return true;
    }, timeoutMs);
    if (settled && this.#state === 'ready') return;
    throw new ProcessNotReadyError(this.spec.name, why, this.spec.logFile, this.log.tail());
  }

  /** Ends the process and everything in its group: SIGTERM, and SIGKILL after the grace. */
  async stop(): Promise<void> {
    const wanted = this.#wanted;
    if (wanted === undefined) return;
    wanted.abort();
    const current = this.#current;
    if (current !== undefined) {
      this.#enter('stopping');
      signalGroup(current.pid, 'SIGTERM');
      signalGroup(current.pid, 'SIGCONT'); // a frozen process would not see it
      const timer = setTimeout(() => signalGroup(current.pid, 'SIGKILL'), this.spec.stopGraceMs ?? 10_000);
      await current.ended;
      clearTimeout(timer);
    }
    await this.#loop;
    this.#wanted = undefined;
    this.#enter('stopped');
  }

  /** Sends a signal to the process alone; false when it does not run. */
  kill(signal: NodeJS.Signals): boolean {
    if (this.#current === undefined) return false;
    try {
      return process.kill(this.#current.pid, signal);
    } catch {
      return false;
    }
  }

  async #keepRunning(wanted: AbortSignal): Promise<void> {
    while (!wanted.aborted) {
      const incarnation = this.#launch();
      if (incarnation !== undefined) {
        void this.#watch(incarnation);
        this.#lastExit = await incarnation.ended;
        incarnation.over.abort();
        this.#current = undefined;
        if (performance.now() - incarnation.since >= this.#backoff.stableAfterMs) this.#deathsInARow = 0;
      }
      if (wanted.aborted) return;
      this.#deathsInARow += 1;
      if (this.spec.restart === 'never') {
        this.#enter('failed');
        return;
      }
      this.#enter('backing-off');
      try {
        await sleep(backoffDelay(this.#backoff, this.#deathsInARow), undefined, { signal: wanted });
      } catch {
        return; // stopped meanwhile
      }
      this.#restarts += 1;
    }
  }

  #launch(): Incarnation | undefined {
    const logFd = this.log.open();
    try {
      const { command, args, cwd, env } = this.spec;
      const child = this.#warden.launch({ command, args, cwd, env, logFd });
      if (child.pid === undefined) {
        child.once('error', (error) => (this.#lastExit = error.message));
        this.#lastExit = `cannot start ${command}`;
        return undefined;
      }
      child.on('error', () => undefined); // a signal that could not be sent: its end is what counts
      const ended = once(child, 'exit').then(([code, signal]) => (signal === null ? `exit ${code}` : String(signal)));
      const incarnation = { pid: child.pid, since: performance.now(), ended, over: new AbortController() };
      this.#current = incarnation;
      this.#startedAt = new Date().toISOString();
      this.#enter('starting');
      return incarnation;
    } finally {
      this.log.close(logFd);
    }
  }

  /** From launch to readiness, then liveness until the incarnation is over. */
  async #watch({ over, pid }: Incarnation): Promise<void> {
    const { readiness, liveness, livenessEveryMs = 5_000, livenessFailures = 12 } = this.spec;
    if (readiness !== undefined) {
      await until(async () => over.signal.aborted || (await readiness()), Number.POSITIVE_INFINITY, 100);
    }
    if (over.signal.aborted || this.#state !== 'starting') return;
    this.#everReady = true;
    this.#enter('ready');
    let refusals = 0;
    while (liveness !== undefined) {
      try {
        await sleep(livenessEveryMs, undefined, { signal: over.signal });
      } catch {
        return;
      }
      refusals = (await liveness().catch(() => false)) ? 0 : refusals + 1;
      if (refusals >= livenessFailures && !over.signal.aborted) {
        signalGroup(pid, 'SIGKILL');
        return;
      }
    }
  }

  #enter(state: ProcessState): void {
    this.#state = state;
    this.#changed();
  }
}
