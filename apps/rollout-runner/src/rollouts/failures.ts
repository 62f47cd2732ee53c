import type { Failure, FailureClass } from '@espalier/contracts';
import { HarnessConfigError, HarnessUnknownError } from '@espalier/harnesses';
import { ObjectStoreError } from '@espalier/objects';
import { SandboxCreateError, SandboxError, SandboxLostError, SandboxNotReadyError } from '@espalier/sandbox-client';
import {
  TaskEnvironmentError,
  TaskInvalidError,
  TaskPackageError,
  TaskUnsupportedError,
  WorkspaceError,
} from '@espalier/tasks';

/** Phase of a rollout; the `stage` of its failures and the phase it reports. */
export type Stage = 'package' | 'sandbox' | 'harness' | 'snapshot' | 'record';

export function failure(
  failureClass: FailureClass,
  code: string,
  message: string,
  stage: Stage,
  retryable: boolean,
): Failure {
  return { class: failureClass, code, message: message.slice(0, 1_000), stage, retryable };
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function codeOf(error: unknown, stage: Stage): { readonly code: string; readonly retryable: boolean } {
  if (error instanceof TaskPackageError || error instanceof TaskInvalidError || error instanceof TaskUnsupportedError) {
    return { code: 'TASK_PACKAGE_INVALID', retryable: false };
  }
  if (error instanceof SandboxCreateError) return { code: 'SANDBOX_CREATE', retryable: error.retryable };
  if (error instanceof SandboxNotReadyError) return { code: 'SANDBOX_CREATE', retryable: true };
  if (error instanceof SandboxLostError) return { code: 'SANDBOX_LOST', retryable: true };
  if (error instanceof ObjectStoreError) return { code: error.code, retryable: error.code !== 'OBJECT_MISSING' };
  if (
    error instanceof HarnessUnknownError ||
    error instanceof HarnessConfigError ||
    error instanceof TaskEnvironmentError
  ) {
    return { code: error.code, retryable: false };
  }
  if (error instanceof WorkspaceError || stage === 'snapshot') return { code: 'SNAPSHOT_FAILED', retryable: true };
  // The manager refuses the sandbox as it was asked for: an image, a payload, a mount that it cannot give.
  if (error instanceof SandboxError && stage === 'sandbox') {
    return { code: error.code === 'SANDBOX_REQUEST' ? 'SANDBOX_CREATE' : error.code, retryable: error.retryable };
  }
  if (error instanceof SandboxError) return { code: error.code, retryable: error.retryable };
  return { code: 'RUNNER_ERROR', retryable: true };
}

/**
 * The failure that an error is for the attempt. Whatever is thrown on the runner's side is infrastructure, never the
 * policy's doing: the attempt has no reward and is replaced.
 */
export function failureOf(error: unknown, stage: Stage): Failure {
  const { code, retryable } = codeOf(error, stage);
  return failure('INFRA', code, textOf(error), stage, retryable);
}
