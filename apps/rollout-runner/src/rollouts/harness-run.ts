import type { GatewaySession } from '@espalier/gateway';
import type { HarnessExit, HarnessPlan } from '@espalier/harnesses';
import { SandboxLostError, type Job, type SandboxClient } from '@espalier/sandbox-client';

/** What a harness runs on. */
export interface HarnessRunOptions {
  readonly client: Pick<SandboxClient, 'startJob' | 'waitJob' | 'cancelJob'>;
  readonly sandboxId: string;
  readonly plan: HarnessPlan;
  /** Equal keys start the harness once, whatever is sent again. */
  readonly idempotencyKey: string;
  readonly wallMs: number;
  /** The harness may run already, started by another runner. */
  readonly adopts: boolean;
  readonly session: GatewaySession;
  /** The rollout is over: the claim or the sandbox is lost. */
  readonly signal: AbortSignal;
  /** The gateway cannot go on. */
  readonly fatal: AbortSignal;
  /** How long a harness may take to end after its last budget refusal, milliseconds. */
  readonly graceMs: number;
}

/** Kept bytes of each output stream, half head and half tail: the log in a body has 64 KiB. */
const OUTPUT_BYTES = 128 * 1024;
const POLL_MS = 2_000;
const WALL_GRACE_MS = 10_000;

const isOver = ({ state }: Job): boolean => state !== 'queued' && state !== 'running';

/** A harness that has ended. */
export interface EndedHarness {
  readonly exit: HarnessExit;
  /** What it printed, both streams. */
  readonly log: string;
}

function ended(job: Job, timedOut: boolean): EndedHarness {
  const stdoutTail = job.stdout.text;
  const stderrTail = job.stderr.text;
  const exit = { exitCode: job.exitCode, signal: job.signal, timedOut, stdoutTail, stderrTail };
  return { exit, log: [stdoutTail, stderrTail, job.error ?? ''].filter((text) => text !== '').join('\n') };
}

/**
 * Runs a harness to its end: by itself, by its wall budget (counted from its start), by the gateway's giving up, or, when it
 * goes on after a budget refusal, by the runner. Throws `SANDBOX_LOST`, and what `signal` aborts with.
 */
export async function runHarness(options: HarnessRunOptions): Promise<EndedHarness> {
  const { client, sandboxId, plan, wallMs, session, signal, fatal } = options;
  const stop = AbortSignal.any([signal, fatal]);
  // Before the start: the first call may come at once.
  let wallDeadline = Date.now() + wallMs;
  session.startClock(wallDeadline);
  const jobId = await client.startJob(
    sandboxId,
    {
      argv: plan.argv,
      env: plan.env,
      cwd: plan.cwd,
      timeoutMs: wallMs,
      maxOutputBytes: OUTPUT_BYTES,
      idempotencyKey: options.idempotencyKey,
    },
    { signal },
  );
  let refusedAt: number | null = null;
  for (;;) {
    const job = await untilStopped(() => client.waitJob(jobId, POLL_MS, { signal: stop }), signal, fatal);
    if (options.adopts && job !== null && job.startedAt !== null && job.startedAt + wallMs < wallDeadline) {
      // Its time has run since another runner started it.
      wallDeadline = job.startedAt + wallMs;
      session.startClock(wallDeadline);
    }
    if (job === null) return ended(await client.cancelJob(jobId, { signal }), false);
    if (job.state === 'lost')
      throw new SandboxLostError(`the sandbox ended under the harness: ${job.error ?? 'no cause known'}`);
    if (isOver(job)) return ended(job, job.state === 'timed_out');
    const now = Date.now();
    refusedAt = session.stopReason === null ? null : (refusedAt ?? now);
    if (refusedAt !== null && now - refusedAt >= options.graceMs) {
      return ended(await client.cancelJob(jobId, { signal }), false);
    }
    // The agent keeps the time; this is for one that does not.
    if (now >= wallDeadline + WALL_GRACE_MS) return ended(await client.cancelJob(jobId, { signal }), true);
  }
}

/** Null when the gateway gave up meanwhile. */
async function untilStopped(wait: () => Promise<Job>, signal: AbortSignal, fatal: AbortSignal): Promise<Job | null> {
  signal.throwIfAborted();
  if (fatal.aborted) return null;
  try {
    return await wait();
  } catch (error) {
    signal.throwIfAborted();
    if (fatal.aborted) return null;
    throw error;
  }
}
