/** Asks whether a process works; a rejection counts as `false`. It must give up by itself within a few seconds. */
export type Probe = () => Promise<boolean>;

/** A process that the supervisor starts and keeps running. Times are milliseconds. */
export interface ProcessSpec {
  /** Unique within a supervisor, e.g. `rollout-runner` or `rollout-runner-2`. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment of the process. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Takes both output streams. */
  readonly logFile: string;
  /** When it answers true for the first time the process counts as ready; without one, as soon as it runs. */
  readonly readiness?: Probe;
  /** How long to wait for that; default 60 000. */
  readonly readyTimeoutMs?: number;
  /** Asked every `livenessEveryMs` once ready; after `livenessFailures` refusals in a row the process is replaced. */
  readonly liveness?: Probe;
  /** Default 5 000. */
  readonly livenessEveryMs?: number;
  /** Default 12. */
  readonly livenessFailures?: number;
  /** Between SIGTERM and SIGKILL; default 10 000. */
  readonly stopGraceMs?: number;
  /** `always` (default): a process that ends for any reason is started again, with capped back-off. */
  readonly restart?: 'always' | 'never';
}

/**
 * `starting`: runs, not ready yet. `backing-off`: died, will be started again. `failed`: died and stays so.
 */
export type ProcessState = 'starting' | 'ready' | 'backing-off' | 'stopping' | 'stopped' | 'failed';

/** What is known of a process at one moment. */
export interface ProcessStatus {
  readonly name: string;
  readonly state: ProcessState;
  /** Process id of the running incarnation, also the id of its process group. */
  readonly pid: number | null;
  /** How often it was started again after a death. */
  readonly restarts: number;
  /** ISO time of the start of the running incarnation. */
  readonly startedAt: string | null;
  /** How the last incarnation ended, e.g. `exit 1` or `SIGKILL`. */
  readonly lastExit: string | null;
  readonly logFile: string;
}
