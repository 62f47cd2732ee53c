import { constants } from 'node:os';
import { outputText, outputsOf, type Job } from './job.ts';
import { withoutLoginNoise } from './login-noise.ts';

const seconds = (milliseconds: number | null): number | null => (milliseconds === null ? null : milliseconds / 1000);

interface Outcome {
  readonly status: 'queued' | 'running' | 'succeeded' | 'failed';
  readonly exitCode: number | null;
  readonly error: string | null;
  readonly note: string;
}

function outcomeOf(job: Job): Outcome {
  const limit = Math.max(1, Math.round(job.exec.timeoutMs / 1000));
  const timedOut = `Command timed out after ${limit}s`;
  switch (job.state) {
    case 'queued':
    case 'running':
      return { status: job.state, exitCode: null, error: null, note: '' };
    case 'timed_out':
      return { status: 'failed', exitCode: 124, error: timedOut, note: `\n${timedOut} and was killed` };
    case 'cancelled':
      return { status: 'failed', exitCode: null, error: 'Command was cancelled', note: '' };
    case 'lost':
      return { status: 'failed', exitCode: null, error: job.error, note: '' };
    case 'exited': {
      const last = job.last;
      if (last?.error === 'embedded null byte')
        return {
          status: 'failed',
          exitCode: null,
          error: 'Agent exec failed (HTTP 500): {"detail":"embedded null byte"}',
          note: '',
        };
      const signal = last?.signal ?? null;
      const exitCode = signal === null ? (last?.exit_code ?? null) : -signalNumber(signal);
      if (exitCode === 0) return { status: 'succeeded', exitCode, error: null, note: '' };
      // The original cannot tell a command's own 124 from a time-out; clients may rely on it.
      return { status: 'failed', exitCode, error: exitCode === 124 ? timedOut : null, note: '' };
    }
  }
}

function signalNumber(name: string): number {
  const known = (constants.signals as Readonly<Record<string, number>>)[name];
  return known ?? Number(/^SIG(\d+)$/.exec(name)?.[1] ?? 0);
}

/** The job object of the contract; `full` adds exact bytes, counts and the agent's own state under `detail`. */
export function jobView(job: Job, full: boolean): Record<string, unknown> {
  const outcome = outcomeOf(job);
  const { stdout, stderr } = outputsOf(job);
  const standardError = outputText(stderr);
  const view = {
    job_id: job.id,
    sandbox_id: job.sandboxId,
    command: job.exec.command,
    status: outcome.status,
    stdout: full ? '' : outputText(stdout),
    stderr: full ? '' : (job.exec.loginShell ? withoutLoginNoise(standardError) : standardError) + outcome.note,
    exit_code: outcome.exitCode,
    created_at: seconds(job.createdAt),
    started_at: seconds(job.startedAt),
    completed_at: seconds(job.endedAt),
    error: outcome.error ?? job.last?.error ?? null,
  };
  if (!full) return { ...view, error: outcome.error };
  return {
    ...view,
    detail: {
      state: job.state,
      exit_code: job.state === 'exited' ? (job.last?.exit_code ?? null) : null,
      signal: job.last?.signal ?? null,
      started_at_ms: job.startedAt,
      ended_at_ms: job.endedAt,
      stdout,
      stderr,
    },
  };
}
