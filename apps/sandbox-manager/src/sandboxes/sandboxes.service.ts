import type { AgentAccess } from '@espalier/sandbox-client';
import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { Logger } from 'pino';
import type { AgentClient } from '../agent/agent-client.ts';
import { SandboxDriverError, type DriverSandbox, type SandboxDriver, type SandboxRequest } from '../drivers/driver.ts';
import type { SandboxEvents } from '../events/sandbox-events.ts';
import { ApiError } from '../http/errors.ts';
import type { ManagerMetrics } from '../metrics/metrics.ts';
import { sameRequest } from './create-request.ts';

/** What the manager adds to the driver's record; lost with the process, and nothing depends on it for safety. */
interface Tracking {
  lastActivity: number;
  lastHeartbeat: number | null;
  latched: boolean;
}

export interface SandboxesOptions {
  readonly idleTtlMs: number;
  readonly heartbeatTimeoutMs: number;
  readonly heartbeatCleanup: boolean;
  readonly sweepMs: number;
}

/** Event that ends all waits; no sandbox id has an upper-case letter. */
const RELEASE = 'RELEASE';

/** How long a failed sandbox stays visible, milliseconds. */
const FAILED_TTL_MS = 600_000;

/** Sandboxes of this manager: lifecycle, waiting, leases, expiry. */
export class SandboxesService {
  readonly #tracking = new Map<string, Tracking>();
  readonly #changes = new EventEmitter();
  readonly #reported = new Map<string, string>();
  #released = false;
  #sweeper: NodeJS.Timeout | null = null;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(
    readonly driver: SandboxDriver,
    readonly agents: AgentClient,
    readonly events: SandboxEvents,
    readonly metrics: ManagerMetrics,
    readonly log: Logger,
    readonly options: SandboxesOptions,
  ) {
    this.#changes.setMaxListeners(0);
  }

  async start(): Promise<void> {
    await this.driver.start({ changed: (sandbox) => this.#changed(sandbox) });
    // What was ready under an earlier manager has been seen ready by someone.
    for (const { id, phase } of this.driver.list()) this.#track(id).latched = phase === 'ready';
    this.#sweeper = setInterval(() => {
      this.#sweeping = this.sweep().catch((error: unknown) => this.log.error({ err: error }, 'sweep failed'));
    }, this.options.sweepMs);
  }

  async stop(): Promise<void> {
    if (this.#sweeper) clearInterval(this.#sweeper);
    await this.#sweeping;
    await this.driver.stop();
  }

  /** Idempotent by id: 409 when the id is taken by another request. */
  async create(given: string | null, request: SandboxRequest): Promise<DriverSandbox> {
    const id = given ?? randomUUID().slice(0, 8);
    const existing = this.driver.get(id);
    if (existing) {
      if (sameRequest(existing.request, request)) return existing;
      const what = existing.request.owner === request.owner ? 'with another specification' : 'for another owner';
      throw ApiError.of(409, `Sandbox ${id} exists ${what}`);
    }
    try {
      const sandbox = await this.driver.create(id, request);
      this.#track(id);
      return sandbox;
    } catch (error) {
      if (error instanceof SandboxDriverError && !error.retryable) throw ApiError.of(422, error.message);
      throw error;
    }
  }

  /** Throws 404. */
  get(id: string): DriverSandbox {
    const sandbox = this.driver.get(id);
    if (!sandbox) throw ApiError.sandboxNotFound(id);
    return sandbox;
  }

  isLatched(id: string): boolean {
    return this.#tracking.get(id)?.latched === true;
  }

  latch(id: string): void {
    const tracking = this.#tracking.get(id);
    if (tracking) tracking.latched = true;
  }

  /** Resolves when the sandbox is ready, failed or gone (undefined), or after `timeoutMs` as it is then. */
  async settled(id: string, timeoutMs: number, signal?: AbortSignal): Promise<DriverSandbox | undefined> {
    const changed = Promise.withResolvers<void>();
    const giveUp = (): void => changed.resolve();
    const look = (): void => {
      if (this.driver.get(id)?.phase !== 'creating') giveUp();
    };
    look();
    if (timeoutMs <= 0 || signal?.aborted || this.#released) giveUp();
    const timer = setTimeout(giveUp, Math.min(Math.max(0, timeoutMs), 2 ** 31 - 1));
    this.#changes.on(id, look);
    this.#changes.on(RELEASE, giveUp);
    signal?.addEventListener('abort', giveUp, { once: true });
    await changed.promise;
    clearTimeout(timer);
    this.#changes.off(id, look);
    this.#changes.off(RELEASE, giveUp);
    signal?.removeEventListener('abort', giveUp);
    return this.driver.get(id);
  }

  /** Ends the waits of callers: the service is about to stop. */
  releaseWaiters(): void {
    this.#released = true;
    this.#changes.emit(RELEASE);
  }

  /** The agent of a ready sandbox, after waiting for it. Throws 404, or 410 when the sandbox has ended. */
  async agentOf(id: string, timeoutMs: number): Promise<AgentAccess> {
    this.get(id);
    const sandbox = await this.settled(id, timeoutMs);
    if (!sandbox) throw ApiError.sandboxNotFound(id);
    if (sandbox.phase === 'failed') throw goneError(sandbox);
    const access = this.driver.access(id);
    if (!access) throw ApiError.of(404, `Sandbox ${id} agent not ready`);
    this.touch(id);
    return access;
  }

  /** Counts as activity: keeps an idle sandbox from expiring. */
  touch(id: string): void {
    const tracking = this.#tracking.get(id);
    if (tracking) tracking.lastActivity = Date.now();
  }

  async heartbeat(id: string): Promise<void> {
    const sandbox = this.get(id);
    if (sandbox.phase === 'failed') throw goneError(sandbox);
    const tracking = this.#track(id);
    tracking.lastHeartbeat = Date.now();
    tracking.lastActivity = Date.now();
    const access = this.driver.access(id);
    const lease = sandbox.request.lease_seconds;
    if (access && lease !== null && lease > 0) {
      try {
        await this.agents.renewLease(id, access, lease * 1000);
      } catch (error) {
        if (!(await this.driver.check(id))) throw goneError(this.get(id));
        throw error;
      }
    }
  }

  /** Resolves when nothing of the sandbox is left. */
  async remove(id: string): Promise<void> {
    const sandbox = this.driver.get(id);
    if (!sandbox) return;
    const removal = this.driver.remove(id);
    this.#tracking.delete(id);
    this.#reported.delete(id);
    this.#changes.emit(id);
    this.metrics.sandboxes.set(this.driver.list().length);
    if (sandbox.phase !== 'failed') this.#report('ENDED', sandbox, { durationMs: Date.now() - sandbox.createdAt });
    await removal;
  }

  /** Looks after every sandbox once: the dead, the idle, those whose heartbeats have ceased, the long failed. */
  async sweep(now = Date.now()): Promise<void> {
    for (const sandbox of this.driver.list()) {
      const { id } = sandbox;
      const tracking = this.#track(id);
      if (sandbox.phase === 'ready') await this.driver.check(id);
      const silent =
        this.options.heartbeatCleanup &&
        tracking.lastHeartbeat !== null &&
        now - tracking.lastHeartbeat > this.options.heartbeatTimeoutMs;
      const ttl = sandbox.phase === 'failed' ? FAILED_TTL_MS : this.options.idleTtlMs;
      if (silent || now - tracking.lastActivity > ttl) {
        this.log.info({ sandbox_id: id, phase: sandbox.phase, silent }, 'sandbox expired');
        await this.remove(id);
      }
    }
    await this.driver.sweep();
  }

  #track(id: string): Tracking {
    const known = this.#tracking.get(id);
    if (known) return known;
    const tracking: Tracking = { lastActivity: Date.now(), lastHeartbeat: null, latched: false };
    this.#tracking.set(id, tracking);
    return tracking;
  }

  #changed(sandbox: DriverSandbox): void {
    this.#changes.emit(sandbox.id);
    this.metrics.sandboxes.set(this.driver.list().length);
    if (this.#reported.get(sandbox.id) === sandbox.phase) return;
    const first = !this.#reported.has(sandbox.id);
    this.#reported.set(sandbox.id, sandbox.phase);
    const durationMs = Date.now() - sandbox.createdAt;
    switch (sandbox.phase) {
      case 'creating':
        this.#report('CREATED', sandbox, {});
        return;
      case 'ready':
        // Taken up from an earlier manager, which has reported it.
        if (first) return;
        this.metrics.ready.observe(durationMs / 1000);
        this.#report('READY', sandbox, { durationMs });
        return;
      case 'failed':
        this.metrics.failures.inc({ code: sandbox.failure?.code ?? 'UNKNOWN' });
        this.log.warn({ sandbox_id: sandbox.id, ...sandbox.failure }, 'sandbox failed');
        this.#report('ENDED', sandbox, { durationMs, failure: sandbox.failure });
        return;
    }
  }

  #report(
    kind: 'CREATED' | 'READY' | 'ENDED',
    sandbox: DriverSandbox,
    more: { durationMs?: number; failure?: DriverSandbox['failure'] },
  ): void {
    this.events.report({
      kind,
      sandboxId: sandbox.id,
      runId: sandbox.request.run_id,
      owner: sandbox.request.owner,
      image: sandbox.request.image,
      isolation: sandbox.isolation,
      message: sandbox.message,
      ...more,
    });
  }
}

/** The sandbox existed and is no more: unlike 404 this is an infrastructure failure. */
export const goneError = (sandbox: DriverSandbox): ApiError =>
  new ApiError(410, {
    detail: `Sandbox ${sandbox.id} has ended: ${sandbox.failure?.message ?? 'cause unknown'}`,
    code: sandbox.failure?.code ?? 'SANDBOX_LOST',
  });
