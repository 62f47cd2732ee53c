import type { FailureClass } from '@espalier/contracts';
import type { HarnessExit, HarnessOutcome } from './harness.ts';

/** The harness ended by itself. */
export const submitted: HarnessOutcome = { status: 'COMPLETED', stopReason: 'SUBMITTED', failure: null };

/** A budget ended the rollout; what was sampled is whole and can be scored. */
export function truncated(stopReason: string, code: string, message: string): HarnessOutcome {
  return { status: 'TRUNCATED', stopReason, failure: failure('BUDGET', code, message, false) };
}

/** The harness did not do its work. */
export function failed(
  failureClass: FailureClass,
  stopReason: string,
  code: string,
  message: string,
  retryable: boolean,
): HarnessOutcome {
  return { status: 'FAILED', stopReason, failure: failure(failureClass, code, message, retryable) };
}

/** What holds for every harness: the time-out, and a death that it did not choose. Undefined when it exited by itself. */
export function abnormal(name: string, exit: HarnessExit): HarnessOutcome | undefined {
  if (exit.timedOut) return truncated('WALL_CLOCK', 'BUDGET_WALL_CLOCK', `${name} was ended by its wall-clock budget`);
  if (exit.exitCode === null) {
    const message = `${name} was ended by ${exit.signal ?? 'an unknown signal'}${tail(exit)}`;
    return failed('INFRA', 'HARNESS_CRASH', 'HARNESS_SIGNAL', message, true);
  }
  // The shell's and execve's own codes: there was no such program, or it may not be run.
  if (exit.exitCode === 126 || exit.exitCode === 127) {
    const message = `${name} could not be started (exit code ${exit.exitCode})${tail(exit)}`;
    return failed('INFRA', 'HARNESS_CRASH', 'HARNESS_NOT_STARTED', message, false);
  }
  return undefined;
}

/** The end of what the harness printed, as the end of a message. */
export function tail({ stdoutTail, stderrTail }: HarnessExit): string {
  const text = (stderrTail.trim() || stdoutTail.trim()).slice(-400);
  return text === '' ? '' : `: ${text}`;
}

function failure(failureClass: FailureClass, code: string, message: string, retryable: boolean) {
  return { class: failureClass, code, message: message.slice(0, 1_000), stage: 'harness', retryable };
}
