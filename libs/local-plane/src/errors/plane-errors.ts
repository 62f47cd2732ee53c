/** Why a part of the one-machine plane could not be started, reached or stopped. */
export type PlaneErrorCode =
  | 'PLANE_ALREADY_RUNNING'
  | 'PLANE_KAFKA_JARS_MISSING'
  | 'PLANE_KAFKA_FORMAT_FAILED'
  | 'PLANE_NOT_RUNNING'
  | 'PLANE_PORT_TAKEN'
  | 'PLANE_PROCESS_NOT_READY'
  | 'PLANE_PROCESS_UNKNOWN'
  | 'PLANE_ROOT_NOT_FOUND'
  | 'PLANE_SERVICE_NOT_BUILT'
  | 'PLANE_STOP_TIMED_OUT'
  | 'PLANE_UNREACHABLE_BROKER';

/**
 * Every failure of this package.
 *
 * `code` is stable and meant for programs, `message` says what failed, where, and what to do about it. `retryable` is
 * true when the same call may succeed later without anybody changing anything.
 */
export class PlaneError extends Error {
  override readonly name: string = 'PlaneError';
  readonly code: PlaneErrorCode;
  readonly retryable: boolean;

  constructor(code: PlaneErrorCode, message: string, retryable = false, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.retryable = retryable;
  }
}

/** A supervised process ended, or did not answer its readiness probe in time; `logTail` holds its last words. */
export class ProcessNotReadyError extends PlaneError {
  override readonly name = 'ProcessNotReadyError';
  readonly processName: string;
  readonly logFile: string;
  readonly logTail: string;

  constructor(processName: string, why: string, logFile: string, logTail: string) {
    const tail = logTail.trim() === '' ? '' : `\n--- last lines of ${logFile} ---\n${logTail.trimEnd()}`;
    super('PLANE_PROCESS_NOT_READY', `${processName} did not become ready: ${why}. Its log: ${logFile}${tail}`, true);
    this.processName = processName;
    this.logFile = logFile;
    this.logTail = logTail;
  }
}
