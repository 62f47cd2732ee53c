import type { Logger } from 'pino';

/** A part of a service that runs: a consumer, a processor host, a sweeper. */
export interface ServicePart {
  start?(): Promise<void> | void;
  /** Takes nothing new, and waits up to `deadlineMs` for what it holds. */
  drain?(deadlineMs: number): Promise<void>;
  stop?(): Promise<void> | void;
  /** False: only a new process helps. Read by the liveness probe. */
  healthy?(): boolean;
  /** False: send no traffic. Read by the readiness probe. */
  ready?(): boolean;
}

/** How far a service is in its life. */
export type Phase = 'starting' | 'running' | 'draining' | 'stopped';

const STOP_MS = 15_000;

/**
 * Starts the parts of a service in the order they were added, and stops them in the reverse one: readiness goes off, everything drains
 * at the same time, then all stop.
 */
export class Lifecycle {
  readonly #logger: Pick<Logger, 'info' | 'error' | 'warn'>;
  readonly #parts: { readonly name: string; readonly part: ServicePart }[] = [];
  #phase: Phase = 'starting';
  #fatal: ((error: Error) => void) | undefined;

  constructor(logger: Pick<Logger, 'info' | 'error' | 'warn'>) {
    this.#logger = logger;
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Adds a part; one added to a running service is its adder's to start. */
  add(name: string, part: ServicePart): void {
    this.#parts.push({ name, part });
  }

  async start(): Promise<void> {
    for (const { name, part } of [...this.#parts]) {
      await part.start?.();
      this.#logger.info({ part: name }, 'started');
    }
    this.#phase = 'running';
  }

  /** Ends the process through its ordinary shutdown, with exit code 1: nothing in it can go on. */
  fail(error: Error): void {
    this.#logger.error({ err: error }, 'the service cannot go on');
    this.#fatal?.(error);
  }

  /** Who ends the process on {@link fail}. */
  onFail(listener: (error: Error) => void): void {
    this.#fatal = listener;
  }

  /** Readiness off, drain, stop. Bounded by `drainMs` and fifteen seconds more. */
  async stop(drainMs: number): Promise<void> {
    if (this.#phase === 'stopped') return;
    this.#phase = 'draining';
    await this.#each('drain', (part) => part.drain?.(drainMs), drainMs + STOP_MS, this.#parts);
    for (const entry of [...this.#parts].reverse()) await this.#each('stop', (part) => part.stop?.(), STOP_MS, [entry]);
    this.#phase = 'stopped';
  }

  /** Names of parts that only a new process mends. */
  unhealthy(): string[] {
    return this.#parts.filter(({ part }) => part.healthy?.() === false).map(({ name }) => name);
  }

  /** Why no traffic should come; empty when it may. */
  notReady(): string[] {
    if (this.#phase !== 'running') return [this.#phase];
    return this.#parts.filter(({ part }) => part.ready?.() === false).map(({ name }) => name);
  }

  async #each(
    what: string,
    run: (part: ServicePart) => Promise<void> | void | undefined,
    withinMs: number,
    parts: readonly { readonly name: string; readonly part: ServicePart }[],
  ): Promise<void> {
    await Promise.all(
      parts.map(async ({ name, part }) => {
        let timer: NodeJS.Timeout | undefined;
        const late = new Promise<'late'>((resolve) => (timer = setTimeout(() => resolve('late'), withinMs)));
        try {
          if ((await Promise.race([Promise.resolve(run(part)), late])) === 'late')
            this.#logger.warn({ part: name, withinMs }, `${what} took too long, going on`);
        } catch (error) {
          this.#logger.error({ part: name, err: error }, `${what} failed`);
        } finally {
          clearTimeout(timer);
        }
      }),
    );
  }
}
