/** One thing wrong in a task directory. */
export interface TaskProblem {
  /** Path inside the task directory, e.g. `task.toml`. */
  readonly file: string;
  /** Dotted key inside the file, e.g. `verifier.timeout_sec`; null when the file as a whole is meant. */
  readonly key: string | null;
  readonly message: string;
}

const line = ({ file, key, message }: TaskProblem): string => `${file}${key === null ? '' : `: ${key}`}: ${message}`;

/** Thrown when a task directory or package is not a valid Harbor task. Lists every problem found, not the first alone. */
export class TaskInvalidError extends Error {
  readonly code = 'TASK_INVALID';
  readonly retryable = false;
  readonly problems: readonly TaskProblem[];

  constructor(where: string, problems: readonly TaskProblem[]) {
    super(`${where} is not a valid task:\n${problems.map((problem) => `  ${line(problem)}`).join('\n')}`);
    this.name = 'TaskInvalidError';
    this.problems = problems;
  }
}

/** Thrown when a valid Harbor task asks for something that Espalier cannot do (several steps, Windows, an own verifier image). */
export class TaskUnsupportedError extends Error {
  readonly code = 'TASK_UNSUPPORTED';
  readonly retryable = false;
  readonly problems: readonly TaskProblem[];

  constructor(where: string, problems: readonly TaskProblem[]) {
    super(`${where} needs what is not supported:\n${problems.map((problem) => `  ${line(problem)}`).join('\n')}`);
    this.name = 'TaskUnsupportedError';
    this.problems = problems;
  }
}

/** Thrown when bytes are not a tar of a task: cut short, an escaping path, a device, too large. */
export class TaskPackageError extends Error {
  readonly code = 'TASK_PACKAGE';
  readonly retryable = false;

  constructor(message: string, options?: ErrorOptions) {
    super(`Not a task package: ${message}`, options);
    this.name = 'TaskPackageError';
  }
}

/** Why a reward could not be read. */
export type RewardErrorCode =
  'REWARD_FILE_MISSING' | 'REWARD_FILE_EMPTY' | 'REWARD_UNPARSABLE' | 'REWARD_NOT_FINITE' | 'REWARD_KEY_MISSING';

/** Thrown when the verifier's reward files do not give a score. */
export class RewardError extends Error {
  readonly retryable = false;
  readonly code: RewardErrorCode;

  constructor(code: RewardErrorCode, message: string) {
    super(message);
    this.name = 'RewardError';
    this.code = code;
  }
}

/** Thrown when a `${VAR}` in a task's `env` table has neither a value nor a default. */
export class TaskEnvironmentError extends Error {
  readonly code = 'TASK_ENV_UNSET';
  readonly retryable = false;

  constructor(name: string, variable: string) {
    super(`${name} names \${${variable}}, which is not set; set it, or give a default as \${${variable}:-value}`);
    this.name = 'TaskEnvironmentError';
  }
}
