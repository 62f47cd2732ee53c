import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { PlaneError, ProcessNotReadyError } from '../errors/plane-errors.ts';
import { LogFile } from '../supervisor/log-file.ts';
import { Supervisor } from '../supervisor/supervisor.ts';
import { isAlive, signalGroup } from '../supervisor/signals.ts';
import { until } from '../workspace/until.ts';
import { runningBroker } from './broker-file.ts';
import type { RunningBroker } from './broker-file.ts';
import { brokerAnswers } from './broker-probe.ts';
import { prepareKafka } from './kafka-process.ts';
import type { EmbeddedKafkaOptions, PreparedKafka } from './kafka-process.ts';

/**
 * One real Kafka broker in a process of its own, with its data in a folder.
 *
 * If a broker already runs on that folder, `start` attaches to it instead, and `stop` leaves it alone. A broker that was
 * started here ends when this process does, however that happens.
 *
 * @example
 * const kafka = new EmbeddedKafka({ dir: mkdtempSync(join(tmpdir(), 'kafka-')) });
 * await kafka.start();
 * connect(kafka.brokers);
 * await kafka.stop();
 */
export class EmbeddedKafka {
  readonly #options: EmbeddedKafkaOptions;
  readonly #kafkaDir: string;
  #supervisor: Supervisor | undefined;
  #attached: RunningBroker | undefined;
  #prepared: PreparedKafka | undefined;

  constructor(options: EmbeddedKafkaOptions) {
    this.#options = options;
    this.#kafkaDir = join(resolve(options.dir), 'kafka');
  }

  /** `host:port`; empty before `start`. */
  get brokers(): string[] {
    if (this.#attached !== undefined) return [`${this.#attached.host}:${this.#attached.port}`];
    return this.#prepared === undefined ? [] : [...this.#prepared.brokers];
  }

  /** Process id of the broker; null when none runs on this folder. */
  get pid(): number | null {
    return runningBroker(this.#kafkaDir)?.pid ?? null;
  }

  /** True when `start` found a broker that somebody else had started. */
  get attached(): boolean {
    return this.#attached !== undefined;
  }

  /**
   * Returns when the broker answers requests.
   *
   * @throws PlaneError see {@link prepareKafka}; ProcessNotReadyError when it ended or did not answer within 90 s.
   */
  async start(): Promise<void> {
    if (this.#supervisor !== undefined || this.#attached !== undefined) return;
    const running = runningBroker(this.#kafkaDir);
    if (running !== null) {
      await awaitAnswer(running);
      this.#attached = running;
      return;
    }
    const prepared = await prepareKafka(this.#options);
    const supervisor = new Supervisor();
    this.#supervisor = supervisor;
    this.#prepared = prepared;
    try {
      await supervisor.start({ ...prepared.spec, restart: 'never' });
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Ends the broker in order; one that `start` has attached to goes on. */
  async stop(): Promise<void> {
    this.#attached = undefined;
    const supervisor = this.#supervisor;
    this.#supervisor = undefined;
    await supervisor?.stopAll();
  }

  /** Ends the broker as a crash would. Returns when it is gone; `start` brings it back with its data. */
  async kill(): Promise<void> {
    const { pid } = this;
    if (pid !== null) process.kill(pid, 'SIGKILL');
    await this.stop();
  }
}

/**
 * Starts a broker that goes on when this process ends, or finds the one that already does. Ended by
 * {@link stopRunningBroker}.
 */
export async function startDetachedBroker(options: EmbeddedKafkaOptions): Promise<RunningBroker> {
  const kafkaDir = join(resolve(options.dir), 'kafka');
  const running = runningBroker(kafkaDir);
  if (running !== null) return await awaitAnswer(running);
  const { spec, address } = await prepareKafka(options);
  const log = new LogFile(spec.logFile);
  const logFd = log.open();
  const { command, args, cwd, env } = spec;
  const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', logFd, logFd] });
  log.close(logFd);
  child.unref();
  const ready = await until(
    async () => child.exitCode !== null || (await spec.readiness?.()) === true,
    spec.readyTimeoutMs ?? 60_000,
    200,
  );
  if (!ready || child.exitCode !== null || child.pid === undefined) {
    if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
    throw new ProcessNotReadyError('kafka', `exit code ${child.exitCode}`, spec.logFile, log.tail());
  }
  return { ...address, pid: child.pid };
}

/** Ends the broker that runs on this folder, whoever started it; false when there was none. */
export async function stopRunningBroker(dir: string): Promise<boolean> {
  const running = runningBroker(join(resolve(dir), 'kafka'));
  if (running === null) return false;
  process.kill(running.pid, 'SIGTERM');
  if (!(await until(() => !isAlive(running.pid), 20_000))) process.kill(running.pid, 'SIGKILL');
  if (await until(() => !isAlive(running.pid), 5_000)) return true;
  throw new PlaneError('PLANE_STOP_TIMED_OUT', `The broker with process id ${running.pid} does not end.`, true);
}

async function awaitAnswer(running: RunningBroker): Promise<RunningBroker> {
  const address = `${running.host}:${running.port}`;
  if (await until(() => brokerAnswers([address]), 60_000, 200)) return running;
  throw new PlaneError(
    'PLANE_UNREACHABLE_BROKER',
    `A broker runs (process ${running.pid}) but does not answer at ${address}: look at its log, or end it.`,
    true,
  );
}
