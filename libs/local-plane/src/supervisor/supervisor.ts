import { PlaneError } from '../errors/plane-errors.ts';
import { defaultBackoff } from './backoff.ts';
import type { BackoffPolicy } from './backoff.ts';
import type { ProcessSpec, ProcessStatus } from './process-spec.ts';
import { SupervisedProcess } from './supervised-process.ts';
import { Warden } from './warden.ts';

/** Times are milliseconds. */
export interface SupervisorOptions {
  readonly backoff?: BackoffPolicy;
  /** Between SIGTERM and SIGKILL for what is left when this process dies without stopping anything; default 5 000. */
  readonly orphanGraceMs?: number;
  /** How often the size of the logs is looked at; default 5 000. */
  readonly rotateEveryMs?: number;
  /** Told after every change of any process's state. */
  readonly onChange?: () => void;
}

/**
 * Runs a set of processes, each in a group of its own: starts them again when they die, stops them in order, and leaves
 * none behind when this process itself is killed.
 */
export class Supervisor {
  readonly #processes = new Map<string, SupervisedProcess>();
  readonly #warden: Warden;
  readonly #options: SupervisorOptions;
  #rotation: NodeJS.Timeout | undefined;

  constructor(options: SupervisorOptions = {}) {
    this.#options = options;
    this.#warden = new Warden(options.orphanGraceMs);
  }

  /** Starts a process and returns when it is ready. A failed start leaves nothing running. */
  async start(spec: ProcessSpec): Promise<void> {
    const known = this.#processes.get(spec.name);
    const changed = (): void => this.#options.onChange?.();
    const supervised =
      known ?? new SupervisedProcess(spec, this.#warden, this.#options.backoff ?? defaultBackoff, changed);
    this.#processes.set(spec.name, supervised);
    this.#rotation ??= setInterval(() => this.#rotateLogs(), this.#options.rotateEveryMs ?? 5_000).unref();
    supervised.start();
    try {
      await supervised.ready();
    } catch (error) {
      await supervised.stop();
      throw error;
    }
  }

  /** Ends one process; it stays known, and can be started again with {@link Supervisor.restart}. */
  async stop(name: string): Promise<void> {
    await this.#get(name).stop();
  }

  /** Stops a process in order, starts it again, and returns when it is ready. */
  async restart(name: string): Promise<void> {
    const supervised = this.#get(name);
    await supervised.stop();
    supervised.start();
    await supervised.ready();
  }

  /** Sends a signal to one process and leaves the consequences to the supervisor; false when it does not run. */
  kill(name: string, signal: NodeJS.Signals = 'SIGKILL'): boolean {
    return this.#get(name).kill(signal);
  }

  /** Waits until a process is ready again, e.g. after {@link Supervisor.kill}. */
  async ready(name: string): Promise<void> {
    await this.#get(name).ready();
  }

  /** Ends everything, group after group in the given order, each group at once; what is not named goes last. */
  async stopAll(order: readonly (readonly string[])[] = []): Promise<void> {
    const rest = [...this.#processes.keys()].filter((name) => !order.flat().includes(name));
    for (const group of [...order, rest]) {
      await Promise.all(group.map(async (name) => await this.#processes.get(name)?.stop()));
    }
    clearInterval(this.#rotation);
    this.#rotation = undefined;
    this.#warden.close();
  }

  status(): ProcessStatus[] {
    return [...this.#processes.values()].map((supervised) => supervised.status);
  }

  #get(name: string): SupervisedProcess {
    const supervised = this.#processes.get(name);
    if (supervised !== undefined) return supervised;
    const known = [...this.#processes.keys()].join(', ');
    throw new PlaneError('PLANE_PROCESS_UNKNOWN', `No process is called '${name}' here. There are: ${known}.`);
  }

  #rotateLogs(): void {
    for (const supervised of this.#processes.values()) supervised.log.rotateIfLarge();
  }
}
