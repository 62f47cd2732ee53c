import type { Failure } from '@espalier/contracts';
import type { TaskFile } from '@espalier/tasks';

/** What a harness is given to plan its start. */
export interface HarnessInput {
  /** The task's instruction, unchanged. */
  readonly instruction: string;
  /** Working directory of the task in the sandbox. */
  readonly workdir: string;
  /**
   * Where the harness finds the model inside the sandbox: scheme, host, port and the attempt's path, without `/v1` and
   * without a slash at the end. Each harness appends what its wire wants.
   */
  readonly baseUrl: string;
  /** Capability token of the attempt, given to the harness as its API key. */
  readonly apiKey: string;
  /** Model name to ask for. */
  readonly model: string;
  /** Wall-clock budget, milliseconds. The runner enforces it; a harness may use it to bound single commands. */
  readonly wallMs: number;
  /** Harness options as JSON (`HarnessConfig.config_json`). */
  readonly configJson: string;
  /** Files of the task package; `oracle` alone reads them. */
  readonly taskFiles: readonly TaskFile[];
  /** The task's `solution.env` with its templates filled; `oracle` alone reads it. */
  readonly solutionEnv?: Readonly<Record<string, string>>;
}

/** A file to put into the sandbox before the harness starts. */
export interface HarnessFile {
  readonly path: string;
  readonly content: Buffer;
  readonly mode: number;
}

/** How to start a harness. */
export interface HarnessPlan {
  readonly files: readonly HarnessFile[];
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** How a harness process ended. */
export interface HarnessExit {
  /** Null when a signal or the time-out ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  /** The end of what it printed. */
  readonly stdoutTail: string;
  readonly stderrTail: string;
}

/** What that means for the trajectory. */
export interface HarnessOutcome {
  readonly status: 'COMPLETED' | 'TRUNCATED' | 'FAILED';
  /** Stable reason, e.g. `SUBMITTED`, `MODEL_CALLS`, `WALL_CLOCK`, `HARNESS_CRASH`. */
  readonly stopReason: string;
  /** Null when the harness ended by itself. */
  readonly failure: Failure | null;
}

/** An agent program: how to start it in a sandbox, and how to read the way it ended. */
export interface Harness {
  readonly name: string;
  readonly version: string;
  /** Payloads to mount at `/opt/espalier/<payload>`. */
  readonly payloads: readonly string[];
  /** Whether it calls a model; the runner opens no model stream for one that does not. */
  readonly callsModel: boolean;
  /** Whether it waits through a change of runner; if not, a new attempt starts instead. */
  readonly adoptable: boolean;
  /** Checks and normalises options. @throws {HarnessConfigError} naming the option. */
  options(configJson: string): Readonly<Record<string, unknown>>;
  /** @throws {HarnessConfigError} when the options or the task do not allow a start. */
  plan(input: HarnessInput): HarnessPlan;
  outcome(exit: HarnessExit): HarnessOutcome;
}
