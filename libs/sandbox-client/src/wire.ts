import type { ExecRequest, FileEntry, Job, JobOutput, JobState, Sandbox, SandboxSpec, SandboxStatus } from './types.ts';

/** Body of `POST /sandboxes`. */
export function createBody(spec: SandboxSpec): Record<string, unknown> {
  return {
    image: spec.image,
    ...(spec.sandboxId === undefined ? {} : { sandbox_id: spec.sandboxId }),
    ...(spec.blockNetwork === undefined ? {} : { block_network: spec.blockNetwork }),
    ...(spec.cpu === undefined ? {} : { cpu: spec.cpu }),
    ...(spec.memory === undefined ? {} : { memory: spec.memory }),
    ...(spec.createTimeoutSeconds === undefined ? {} : { timeout: Math.ceil(spec.createTimeoutSeconds) }),
    ...(spec.taskPackage === undefined ? {} : { task_package: spec.taskPackage }),
    ...(spec.env === undefined ? {} : { env: spec.env }),
    ...(spec.payloads === undefined ? {} : { payloads: spec.payloads }),
    ...(spec.labels === undefined ? {} : { labels: spec.labels }),
    ...(spec.runId === undefined ? {} : { run_id: spec.runId }),
    ...(spec.owner === undefined ? {} : { owner: spec.owner }),
    ...(spec.leaseSeconds === undefined ? {} : { lease_seconds: Math.ceil(spec.leaseSeconds) }),
  };
}

/** Body of `POST /sandboxes/X/exec`. */
export function execBody(request: ExecRequest): Record<string, unknown> {
  return {
    ...(request.argv === undefined ? { command: request.command ?? '' } : { argv: request.argv }),
    ...(request.cwd === undefined ? {} : { cwd: request.cwd, strict_cwd: true }),
    ...(request.env === undefined ? {} : { env: request.env }),
    ...(request.timeoutMs === undefined ? {} : { timeout_ms: Math.ceil(request.timeoutMs) }),
    ...(request.loginShell === undefined ? {} : { login_shell: request.loginShell }),
    ...(request.stdin === undefined ? {} : { stdin: Buffer.from(request.stdin as Uint8Array).toString('base64') }),
    ...(request.maxOutputBytes === undefined ? {} : { max_output_bytes: request.maxOutputBytes }),
    parallel: request.parallel ?? true,
    wait: false,
  };
}

interface SandboxWire {
  readonly sandbox_id: string;
  readonly image: string;
  readonly status: SandboxStatus;
  readonly status_message?: string;
  readonly ready?: boolean;
}

export function readSandbox(value: unknown): Sandbox {
  const wire = value as SandboxWire;
  return {
    sandboxId: wire.sandbox_id,
    image: wire.image,
    status: wire.status,
    statusMessage: wire.status_message ?? '',
    ready: wire.status === 'ready',
  };
}

interface OutputWire {
  readonly head_base64: string;
  readonly tail_base64: string;
  readonly bytes: number;
  readonly truncated: boolean;
}

interface JobWire {
  readonly job_id: string;
  readonly sandbox_id: string;
  readonly error: string | null;
  readonly detail: {
    readonly state: JobState;
    readonly exit_code: number | null;
    readonly signal: string | null;
    readonly started_at_ms: number | null;
    readonly ended_at_ms: number | null;
    readonly stdout: OutputWire;
    readonly stderr: OutputWire;
  };
}

function readOutput(wire: OutputWire): JobOutput {
  const head = Buffer.from(wire.head_base64, 'base64');
  const tail = Buffer.from(wire.tail_base64, 'base64');
  const dropped = wire.bytes - head.length - tail.length;
  const text =
    dropped > 0
      ? `${head.toString('utf8')}\n[... ${dropped} bytes left out ...]\n${tail.toString('utf8')}`
      : Buffer.concat([head, tail]).toString('utf8');
  return { head, tail, bytes: wire.bytes, truncated: wire.truncated, text };
}

/** Reads a job in the manager's full view (`?view=full`). */
export function readJob(value: unknown): Job {
  const wire = value as JobWire;
  return {
    jobId: wire.job_id,
    sandboxId: wire.sandbox_id,
    state: wire.detail.state,
    exitCode: wire.detail.exit_code,
    signal: wire.detail.signal,
    startedAt: wire.detail.started_at_ms,
    endedAt: wire.detail.ended_at_ms,
    stdout: readOutput(wire.detail.stdout),
    stderr: readOutput(wire.detail.stderr),
    error: wire.error,
  };
}

export function readFileEntries(value: unknown): FileEntry[] {
  const files = (value as { files: { name: string; type: 'file' | 'directory'; size: number; modified?: string }[] })
    .files;
  return files.map(({ name, type, size, modified }) => ({ name, type, size, modified: modified ?? null }));
}
