import type { AgentJob, AgentOutput } from '../agent/agent-client.ts';
import type { ExecRequest } from './exec-request.ts';

/** `lost`: its sandbox ended first. */
export type JobState = 'queued' | 'running' | 'exited' | 'timed_out' | 'cancelled' | 'lost';

/** A command, from its acceptance on. */
export interface Job {
  readonly id: string;
  readonly sandboxId: string;
  readonly exec: ExecRequest;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  state: JobState;
  startedAt: number | null;
  endedAt: number | null;
  /** Why it is lost or could not start. */
  error: string | null;
  /** Last word of the agent; null before it has any, and when it was dropped to save memory. */
  last: AgentJob | null;
  /** Resolves when the state is final. */
  readonly over: Promise<void>;
  readonly settle: () => void;
}

export const isOver = (job: Job): boolean => job.state !== 'queued' && job.state !== 'running';

const NO_OUTPUT: AgentOutput = { head_base64: '', tail_base64: '', bytes: 0, truncated: false };
const DROPPED = (output: AgentOutput): Buffer =>
  Buffer.from(`\n[... ${output.bytes - base64Bytes(output)} bytes left out ...]\n`);

const base64Bytes = (output: AgentOutput): number =>
  Buffer.byteLength(output.head_base64, 'base64') + Buffer.byteLength(output.tail_base64, 'base64');

/** Text of an output, invalid UTF-8 as U+FFFD; a note stands where bytes were dropped. */
export function outputText(output: AgentOutput): string {
  const head = Buffer.from(output.head_base64, 'base64');
  const tail = Buffer.from(output.tail_base64, 'base64');
  return Buffer.concat(output.truncated ? [head, DROPPED(output), tail] : [head, tail]).toString('utf8');
}

/** Bytes that a job's output takes in memory. */
export const keptBytes = (job: Job): number =>
  (job.last?.stdout.head_base64.length ?? 0) +
  (job.last?.stdout.tail_base64.length ?? 0) +
  (job.last?.stderr.head_base64.length ?? 0) +
  (job.last?.stderr.tail_base64.length ?? 0);

export const outputsOf = (job: Job): { stdout: AgentOutput; stderr: AgentOutput } => ({
  stdout: job.last?.stdout ?? NO_OUTPUT,
  stderr: job.last?.stderr ?? NO_OUTPUT,
});
