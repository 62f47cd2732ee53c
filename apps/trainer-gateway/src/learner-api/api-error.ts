import { HttpException } from '@nestjs/common';

/** An error as every client of this API gets it: `{code, message}` with a stable code. */
export class ApiError extends HttpException {
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super({ code, message }, status);
    this.code = code;
  }
}

export const runUnknown = (runId: string): ApiError =>
  new ApiError(404, 'RUN_UNKNOWN', `run ${runId} is unknown; submit it first (espalier run create)`);

export const batchUnknown = (runId: string, seq: number): ApiError =>
  new ApiError(
    404,
    'BATCH_UNKNOWN',
    `batch ${seq} of run ${runId} is not on offer: not assembled yet, or acknowledged`,
  );

/** HTTP status of a refusal that came as a verdict. */
export function statusOf(code: string | null): number {
  switch (code) {
    case 'RUN_UNKNOWN':
    case 'BATCH_UNKNOWN':
    case 'CHECKPOINT_UNKNOWN':
      return 404;
    case 'CHANGE_INVALID':
    case 'COMMAND_UNKNOWN':
      return 422;
    default:
      return 409;
  }
}
