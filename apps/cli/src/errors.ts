/** What the process ends with; docs/cli.md lists them. */
export const EXIT = {
  ok: 0,
  /** The command did its work, and the answer is no: target missed, audit violated, command refused, check failed. */
  no: 1,
  /** Wrong use: flags, files. */
  usage: 2,
  /** The plane, its broker or a part of it cannot be reached or started. */
  unavailable: 3,
  /** Ctrl-C. */
  interrupted: 130,
} as const;

/** A command that cannot go on. The message is all that the user sees. */
export class CliError extends Error {
  /** `CLI_USAGE`, `CLI_RUN_FILE`, `CLI_NOT_FOUND`, `CLI_PLANE_DOWN`, `CLI_NO_VERDICT` or `CLI_REFUSED`. */
  readonly code: string;
  readonly exitCode: number;
  readonly retryable = false;
  constructor(code: string, message: string, exitCode: number = EXIT.usage) {
    super(message);
    this.code = code;
    this.exitCode = exitCode;
  }
}
