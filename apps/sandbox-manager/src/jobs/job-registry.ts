import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { AgentConnectionError, AgentRefusedError, type AgentClient, type AgentJob } from '../agent/agent-client.ts';
import type { SandboxEvents } from '../events/sandbox-events.ts';
import { ApiError } from '../http/errors.ts';
import type { ManagerMetrics } from '../metrics/metrics.ts';
import type { SandboxesService } from '../sandboxes/sandboxes.service.ts';
import { agentRequest, type ExecRequest } from './exec-request.ts';
import { isOver, keptBytes, type Job } from './job.ts';
import { commandDigest } from './job-ids.ts';

/** One long poll of the agent, milliseconds. */
const POLL_MS = 25_000;
/** How long a living sandbox's agent may be out of reach, milliseconds. */
const RECONNECT_MS = 45_000;
/** Output of finished jobs kept in this process; beyond it the agent is asked again. */
const KEPT_BYTES = 64 * 1024 * 1024;

/** A line of the sandbox's journal: all that is needed to find or to dispatch the job again. */
interface JournalLine {
  readonly job_id: string;
  readonly created_at: number;
  readonly exec: ExecRequest;
}

/**
 * Jobs of all sandboxes. A job is written to its sandbox's journal before it is accepted, and runs in the agent under
 * its id, which never runs twice: so a manager that is killed at any moment finds every job again, and a job that it
 * had not yet handed over is handed over by the next one.
 */
export class JobRegistry {
  readonly #jobs = new Map<string, Job>();
  readonly #bySandbox = new Map<string, Set<string>>();
  /** Last serial job of each sandbox. */
  readonly #tails = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();
  /** Ends the waits of callers. */
  readonly #releases = new Set<() => void>();
  #kept = 0;

  constructor(
    readonly sandboxes: SandboxesService,
    readonly agents: AgentClient,
    readonly events: SandboxEvents,
    readonly metrics: ManagerMetrics,
    readonly log: Logger,
    readonly ttlMs: number,
  ) {}

  /** Takes up the jobs of the sandboxes that the driver knows. */
  recover(): void {
    for (const { id } of this.sandboxes.driver.list())
      for (const line of this.sandboxes.driver.readJournal(id))
        try {
          const { job_id: jobId, created_at: createdAt, exec } = JSON.parse(line) as JournalLine;
          if (!this.#jobs.has(jobId)) this.#run(this.#add(jobId, id, exec, createdAt));
        } catch {
          // A line cut short was never acknowledged.
          this.log.warn({ sandbox_id: id }, 'a journal line is not whole');
        }
  }

  /** Starts the job of this id, or finds it. */
  start(jobId: string, sandboxId: string, exec: ExecRequest): Job {
    const known = this.#jobs.get(jobId);
    if (known) return known;
    const createdAt = Date.now();
    const line: JournalLine = { job_id: jobId, created_at: createdAt, exec };
    this.sandboxes.driver.appendJournal(sandboxId, JSON.stringify(line));
    const job = this.#add(jobId, sandboxId, exec, createdAt);
    this.#run(job);
    return job;
  }

  find(jobId: string): Job | undefined {
    return this.#jobs.get(jobId);
  }

  /** Throws 404. */
  get(jobId: string): Job {
    const job = this.#jobs.get(jobId);
    if (!job) throw ApiError.jobNotFound(jobId);
    return job;
  }

  /** Jobs of a sandbox, oldest first. */
  of(sandboxId: string): Job[] {
    return [...(this.#bySandbox.get(sandboxId) ?? [])].flatMap((id) => this.#jobs.get(id) ?? []);
  }

  /** Resolves when the job is over, after `waitMs` or when `signal` aborts. */
  async settled(job: Job, waitMs: number, signal?: AbortSignal): Promise<void> {
    if (isOver(job) || waitMs <= 0) return;
    const done = Promise.withResolvers<void>();
    const giveUp = (): void => done.resolve();
    const timer = setTimeout(giveUp, Math.min(waitMs, 2 ** 31 - 1));
    this.#releases.add(giveUp);
    signal?.addEventListener('abort', giveUp, { once: true });
    if (signal?.aborted || this.#stopping.signal.aborted) giveUp();
    await Promise.race([job.over, done.promise]);
    signal?.removeEventListener('abort', giveUp);
    this.#releases.delete(giveUp);
    clearTimeout(timer);
  }

  /** Makes sure that a finished job's output is at hand. */
  async withOutput(job: Job): Promise<Job> {
    if (!isOver(job) || job.last !== null || job.state === 'lost') return job;
    const access = this.sandboxes.driver.access(job.sandboxId);
    if (access) this.#keep(job, await this.agents.getJob(job.sandboxId, access, job.id, 0));
    return job;
  }

  /** Ends the job's process tree; resolves when it is over. */
  async cancel(job: Job): Promise<void> {
    if (isOver(job)) return;
    if (job.state === 'queued') {
      this.#finish(job, 'cancelled', null);
      return;
    }
    // The start may still be on its way to the agent.
    for (let tries = 0; tries < 100 && !isOver(job); tries += 1) {
      const access = this.sandboxes.driver.access(job.sandboxId);
      if (!access) break;
      try {
        await this.agents.cancelJob(job.sandboxId, access, job.id);
        break;
      } catch (error) {
        if (!(error instanceof AgentRefusedError) || error.code !== 'JOB_UNKNOWN') throw error;
        await delay(20);
      }
    }
    await this.settled(job, 30_000);
  }

  /** Forgets finished jobs of ended sandboxes after their time; those of living ones stay with them. */
  sweep(now = Date.now()): void {
    for (const job of this.#jobs.values()) {
      if (!isOver(job) || now - job.createdAt < this.ttlMs || this.sandboxes.driver.get(job.sandboxId)) continue;
      this.#jobs.delete(job.id);
      this.#kept -= keptBytes(job);
      const siblings = this.#bySandbox.get(job.sandboxId);
      siblings?.delete(job.id);
      if (siblings?.size === 0) this.#bySandbox.delete(job.sandboxId);
    }
  }

  /** Stops watching; the jobs go on in their sandboxes. */
  stop(): void {
    this.#stopping.abort();
    for (const release of this.#releases) release();
  }

  #add(id: string, sandboxId: string, exec: ExecRequest, createdAt: number): Job {
    const { promise, resolve } = Promise.withResolvers<void>();
    const job: Job = {
      id,
      sandboxId,
      exec,
      createdAt,
      state: 'queued',
      startedAt: null,
      endedAt: null,
      error: null,
      last: null,
      over: promise,
      settle: resolve,
    };
    this.#jobs.set(id, job);
    const siblings = this.#bySandbox.get(sandboxId) ?? new Set();
    siblings.add(id);
    this.#bySandbox.set(sandboxId, siblings);
    return job;
  }

  #run(job: Job): void {
    const before = job.exec.parallel ? Promise.resolve() : (this.#tails.get(job.sandboxId) ?? Promise.resolve());
    const running = before
      .then(() => this.#execute(job))
      .catch((error: unknown) => {
        if (this.#stopping.signal.aborted) return;
        this.#lose(job, `Agent connection error: ${error instanceof Error ? error.message : String(error)}`);
      });
    if (job.exec.parallel) return;
    this.#tails.set(job.sandboxId, running);
    void running.then(() => {
      if (this.#tails.get(job.sandboxId) === running) this.#tails.delete(job.sandboxId);
    });
  }

  async #execute(job: Job): Promise<void> {
    if (isOver(job)) return;
    const { sandboxId } = job;
    const sandbox = await this.sandboxes.settled(sandboxId, job.exec.timeoutMs, this.#stopping.signal);
    this.#stopping.signal.throwIfAborted();
    if (isOver(job)) return;
    if (!sandbox) return this.#lose(job, `Sandbox ${sandboxId} not found`);
    if (sandbox.phase === 'failed') return this.#lose(job, sandbox.failure?.message ?? 'the sandbox has ended');
    const request = agentRequest(job.exec);
    let unreachableSince: number | null = null;
    for (let handedOver = false; ;) {
      this.#stopping.signal.throwIfAborted();
      const access = this.sandboxes.driver.access(sandboxId);
      if (!access) return this.#lose(job, `Sandbox ${sandboxId} has ended`);
      try {
        if (job.state === 'queued') {
          job.state = 'running';
          job.startedAt = Date.now();
        }
        const seen: AgentJob = handedOver
          ? await this.agents.getJob(sandboxId, access, job.id, POLL_MS, this.#stopping.signal)
          : await this.agents.startJob(sandboxId, access, job.id, request, POLL_MS, this.#stopping.signal);
        handedOver = true;
        unreachableSince = null;
        job.startedAt = seen.started_at;
        this.sandboxes.touch(sandboxId);
        if (seen.state !== 'running') return this.#finish(job, seen.state, seen);
      } catch (error) {
        this.#stopping.signal.throwIfAborted();
        if (error instanceof AgentRefusedError)
          return this.#lose(job, `Agent exec failed (HTTP ${error.status}): ${error.message}`);
        if (!(error instanceof AgentConnectionError)) throw error;
        unreachableSince ??= performance.now();
        // The start is sent again under the same id, which the agent runs once.
        if (!(await this.sandboxes.driver.check(sandboxId)))
          return this.#lose(
            job,
            this.sandboxes.driver.get(sandboxId)?.failure?.message ?? `Sandbox ${sandboxId} not found`,
          );
        if (performance.now() - unreachableSince > RECONNECT_MS)
          return this.#lose(job, `Agent connection error: ${error.message}`);
        await delay(100);
      }
    }
  }

  #finish(job: Job, state: 'exited' | 'timed_out' | 'cancelled', last: AgentJob | null): void {
    job.state = state;
    job.endedAt = last?.ended_at ?? Date.now();
    if (last) this.#keep(job, last);
    this.#done(job);
  }

  #lose(job: Job, error: string): void {
    job.state = 'lost';
    job.error = error;
    job.endedAt = Date.now();
    this.#done(job);
  }

  #done(job: Job): void {
    job.settle();
    this.metrics.jobs.inc({ state: job.state });
    this.metrics.jobSeconds.observe(Math.max(0, Date.now() - job.createdAt) / 1000);
    const sandbox = this.sandboxes.driver.get(job.sandboxId);
    this.events.report({
      kind: 'COMMAND',
      sandboxId: job.sandboxId,
      runId: sandbox?.request.run_id ?? null,
      owner: sandbox?.request.owner ?? null,
      image: sandbox?.request.image ?? '',
      isolation: sandbox?.isolation ?? '',
      jobId: job.id,
      commandDigest: commandDigest(job.exec.command),
      exitCode: job.last?.exit_code ?? null,
      durationMs: Math.max(0, (job.endedAt ?? Date.now()) - (job.startedAt ?? job.createdAt)),
      failure: job.state === 'lost' ? { code: 'SANDBOX_LOST', message: job.error ?? '', retryable: true } : null,
      message: job.state,
    });
  }

  #keep(job: Job, last: AgentJob): void {
    job.last = last;
    this.#kept += keptBytes(job);
    if (this.#kept <= KEPT_BYTES) return;
    for (const other of this.#jobs.values()) {
      if (this.#kept <= KEPT_BYTES / 2) return;
      // Only what the agent can give again, and never the newest.
      if (other === job || !isOver(other) || other.last === null || !this.sandboxes.driver.access(other.sandboxId))
        continue;
      this.#kept -= keptBytes(other);
      other.last = null;
    }
  }
}
