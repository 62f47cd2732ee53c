import type { Failure } from '@espalier/contracts';

/** A failure of the plane itself: the worker is gone, or too late. */
export const workerLost = (code: string, message: string): Failure => ({
  class: 'INFRA',
  code,
  message,
  stage: null,
  retryable: true,
});
