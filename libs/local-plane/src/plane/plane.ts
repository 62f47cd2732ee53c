import type { Supervisor } from '../supervisor/supervisor.ts';
import { commandLine } from '../supervisor/signals.ts';
import { endLeftoverSandboxes } from './leftover-sandboxes.ts';
import { removePlaneState, writePlaneState } from './plane-state.ts';
import type { PlaneProcessStatus, PlaneState } from './plane-state.ts';
import type { ServiceName } from './ports.ts';
import { clientEnvironment, stateDirOf } from './service-process.ts';
import type { PlaneWiring } from './service-process.ts';

/** Work stops before those it reports to, the sandboxes' manager after those that use it, the log at the very end. */
const stopOrder: readonly (readonly ServiceName[])[] = [
  ['rollout-runner', 'reward-scorer', 'prm-service', 'value-reranker', 'reference-learner', 'lag-exporter'],
  ['trainer-gateway'],
  ['sandbox-manager'],
];

/** A running one-machine plane. Made by `startPlane`. */
export class Plane {
  readonly #wiring: PlaneWiring;
  readonly #supervisor: Supervisor;
  readonly #startedAt = new Date().toISOString();
  #stopping: Promise<void> | undefined;

  constructor(wiring: PlaneWiring, supervisor: Supervisor) {
    this.#wiring = wiring;
    this.#supervisor = supervisor;
  }

  /** `host:port` of the brokers in use. */
  get brokers(): string[] {
    return [...this.#wiring.brokers];
  }

  /** Prefix of all topics, groups and transactional ids. */
  get prefix(): string {
    return this.#wiring.settings.prefix;
  }

  /** Folder of its data, logs and state. */
  get dir(): string {
    return this.#wiring.settings.dir;
  }

  /** The `ESPALIER_*` variables with which a client reaches this plane, the sandbox API key included. */
  get clientEnvironment(): Record<string, string> {
    return clientEnvironment(this.#wiring);
  }

  /** Base URL of a service's HTTP interface (first replica); null when it has none or is not part of the plane. */
  url(service: ServiceName): string | null {
    const port = this.#wiring.replicas.find((replica) => replica.service === service)?.ports.http ?? null;
    return port === null ? null : `http://127.0.0.1:${port}`;
  }

  /** Every process, the embedded broker included. */
  status(): PlaneProcessStatus[] {
    const portsOf = (name: string) => this.#wiring.replicas.find((replica) => replica.name === name)?.ports ?? null;
    return this.#supervisor.status().map((process) => ({ ...process, ports: portsOf(process.name) }));
  }

  /** Stops one process in order and starts it again; returns when it is ready. */
  async restart(name: string): Promise<void> {
    await this.#supervisor.restart(name);
  }

  /** Sends a signal (default SIGKILL) to one process, `kafka` included; what dies is started again. */
  kill(name: string, signal: NodeJS.Signals = 'SIGKILL'): boolean {
    return this.#supervisor.kill(name, signal);
  }

  /** Waits until a process is ready, e.g. after it was killed. */
  async ready(name: string): Promise<void> {
    await this.#supervisor.ready(name);
  }

  /** Stops one process until {@link Plane.restart}. */
  async stopOne(name: string): Promise<void> {
    await this.#supervisor.stop(name);
  }

  /** Stops everything in order. Safe to call more than once. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Writes the state file for other processes. */
  publishState(): void {
    if (this.#stopping === undefined) writePlaneState(this.state());
  }

  /** What the state file says. */
  state(): PlaneState {
    const { ESPALIER_SANDBOX_API_KEY: _secret, ...shown } = this.clientEnvironment;
    return {
      pid: process.pid,
      commandLine: commandLine(process.pid),
      startedAt: this.#startedAt,
      dir: this.dir,
      prefix: this.prefix,
      brokers: this.brokers,
      embeddedKafka: this.#wiring.settings.brokers === null,
      clientEnvironment: shown,
      processes: this.status(),
    };
  }

  async #stop(): Promise<void> {
    const namesOf = (service: ServiceName): string[] =>
      this.#wiring.replicas.filter((replica) => replica.service === service).map(({ name }) => name);
    try {
      await this.#supervisor.stopAll(stopOrder.map((group) => group.flatMap(namesOf)));
      for (const manager of namesOf('sandbox-manager')) await endLeftoverSandboxes(stateDirOf(this.dir, manager));
    } finally {
      removePlaneState(this.dir);
    }
  }
}
