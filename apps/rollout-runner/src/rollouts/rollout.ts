import { trajectoryIdFor, type Failure, type ObjectRef, type RolloutRequested } from '@espalier/contracts';
import { encodeBody } from '@espalier/avro';
import { attemptPath, type GatewaySession } from '@espalier/gateway';
import { harnessConfigHash, harnessFor, type Harness, type HarnessPlan } from '@espalier/harnesses';
import { CancelledError, LeaseLostError, ReleasedError, type Claim } from '@espalier/kafka';
import { SandboxHandle, type AgentAccess } from '@espalier/sandbox-client';
import { captureWorkspace, resolveEnvironment, snapshotPlan, unpackTask, type LoadedTask } from '@espalier/tasks';
import { TrajectoryBuilder } from '@espalier/trajectory';
import { ModelLink } from '../model-calls/model-link.ts';
import { rolloutSession } from '../model-calls/rollout-session.ts';
import { PatientStore } from '../objects/patient-store.ts';
import { sandboxSpec } from '../sandboxes/sandbox-spec.ts';
import { sandboxIdFor } from '../sandboxes/sandbox-id.ts';
import { SandboxLease } from '../sandboxes/sandbox-lease.ts';
import { failure, failureOf, type Stage } from './failures.ts';
import { runHarness, type EndedHarness } from './harness-run.ts';
import { cancelled, failed, isScorable, outcomeOf, type RolloutOutcome } from './outcome.ts';
import { NOTHING, recordedEvent, type RolloutRemains } from './recorded-event.ts';
import { DEFAULT_TIMINGS, type RolloutPorts, type RolloutTimings } from './rollout-ports.ts';
import { sendRecorded } from './send-recorded.ts';

/** Where the agent answers inside the sandbox. */
const MODEL_ENDPOINT = 'http://127.0.0.1:4010';
/** Kept free before the deadline for the terminal record, milliseconds. */
const RECORD_MARGIN_MS = 10_000;

/** The prepared parts of a rollout. */
interface Prepared {
  readonly task: LoadedTask;
  readonly harness: Harness;
}

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * One attempt under one claim: sandbox, harness, model calls, snapshot, and the one terminal record. It ends in silence when
 * the claim is lost or given back; then its sandbox is ended too, since the group starts the attempt anew.
 */
export class Rollout {
  readonly #request: RolloutRequested;
  readonly #claim: Claim;
  readonly #ports: RolloutPorts;
  readonly #timings: RolloutTimings;
  readonly #objects: PatientStore;
  readonly #builder: TrajectoryBuilder;
  readonly #sandboxId: string;
  readonly #runId: string;
  /** The claim is over, the sandbox is lost, or someone else holds it. */
  readonly #over: AbortController = new AbortController();
  readonly #claimedAt = Date.now();
  #stage: Stage = 'package';
  #lease: SandboxLease | null = null;
  #created = false;
  #log = '';
  #instruction = '';
  #remains: RolloutRemains = NOTHING;

  constructor(request: RolloutRequested, claim: Claim, ports: RolloutPorts, timings: RolloutTimings = DEFAULT_TIMINGS) {
    this.#request = request;
    this.#claim = claim;
    this.#ports = ports;
    this.#timings = timings;
    this.#runId = request.run_id ?? request.group_id.split('/', 1)[0] ?? '';
    this.#sandboxId = sandboxIdFor(request.attempt_id, claim.epoch);
    this.#objects = new PatientStore(ports.objects, request.deadline_at - RECORD_MARGIN_MS, this.#over.signal);
    this.#builder = new TrajectoryBuilder({
      trajectoryId: trajectoryIdFor(request.attempt_id),
      attemptId: request.attempt_id,
      taskId: request.task.task_id,
      harness: request.harness.name,
      model: request.policy.model,
      instruction: '',
    });
  }

  /** Runs to the terminal record. Rejects only when that could not be produced. */
  async run(): Promise<void> {
    const { signal } = this.#claim;
    const onClaimOver = (): void => this.#over.abort(signal.reason);
    if (signal.aborted) onClaimOver();
    else signal.addEventListener('abort', onClaimOver, { once: true });
    this.#remain({
      timing: { ...NOTHING.timing, queue_ms: Math.max(0, this.#claimedAt - this.#request.occurred_at) },
    });
    try {
      const outcome = await this.#outcome();
      if (this.#isLost()) {
        this.#ports.observer.ended('ABANDONED', message(this.#over.signal.reason));
        return;
      }
      await this.#record(outcome);
      this.#ports.observer.ended(outcome.status, outcome.failure?.code ?? '');
    } finally {
      signal.removeEventListener('abort', onClaimOver);
      await this.#dispose();
    }
  }

  /** How it ended, whatever happened. */
  async #outcome(): Promise<RolloutOutcome> {
    try {
      return await this.#work();
    } catch (error) {
      const reason: unknown = this.#over.signal.aborted ? this.#over.signal.reason : error;
      if (reason instanceof CancelledError) return cancelled(reason.reason);
      return failed(failureOf(reason, this.#stage));
    }
  }

  async #work(): Promise<RolloutOutcome> {
    if (this.#request.policy.adapter === 'TOKENS') {
      return failed(failure('INFRA', 'LLM_ADAPTER', 'the tokens adapter is not available here', 'package', false));
    }
    const prepared = await this.#prepare();
    const access = await this.#createSandbox(prepared);
    const outcome = await this.#runHarness(prepared, access);
    if (!isScorable(outcome)) return outcome;
    await this.#snapshot(prepared.task, access);
    return outcome;
  }

  async #prepare(): Promise<Prepared> {
    const { harness: wanted, task: spec } = this.#request;
    const harness = harnessFor(wanted.name, wanted.version);
    this.#remain({ configHash: harnessConfigHash(harness, wanted.config_json) });
    const task = await unpackTask(await this.#ports.objects.get(spec.package));
    this.#instruction = task.instruction;
    return { harness, task };
  }

  async #createSandbox(prepared: Prepared): Promise<AgentAccess> {
    this.#enter('sandbox');
    const { sandboxes } = this.#ports;
    const { limits } = this.#request;
    const signal = this.#over.signal;
    const startedAt = performance.now();
    await this.#report('sandbox');
    this.#created = true;
    const scope = { sandboxId: this.#sandboxId, runId: this.#runId, leaseMs: this.#timings.leaseMs };
    await sandboxes.create(sandboxSpec(this.#request, prepared, scope), { signal });
    this.#remain({ sandboxId: this.#sandboxId });
    this.#lease = new SandboxLease(sandboxes, this.#sandboxId, this.#timings.renewMs);
    this.#lease.lost.addEventListener('abort', () => this.#over.abort(this.#lease?.lost.reason), { once: true });
    await sandboxes.waitReady(this.#sandboxId, { timeoutMs: limits.setup_ms, signal });
    const access = await sandboxes.agentAccess(this.#sandboxId, { signal });
    this.#remain({ isolation: access.isolation });
    this.#time('sandbox_ms', startedAt);
    return access;
  }

  async #runHarness(prepared: Prepared, access: AgentAccess): Promise<RolloutOutcome> {
    this.#enter('harness');
    const { harness } = prepared;
    const { sandboxes } = this.#ports;
    const plan = this.#plan(prepared, access.workdir);
    const signal = this.#over.signal;
    for (const file of plan.files) {
      await sandboxes.putFile(this.#sandboxId, file.path, file.content, { mode: file.mode, signal });
    }
    await this.#report('harness');
    const fatal = new AbortController();
    const session = this.#session((cause) => fatal.abort(cause));
    const link = new ModelLink({
      access,
      epoch: this.#claim.epoch,
      open: this.#ports.openStream,
      handle: (call, to) => session.handle(call, to),
      onStale: (error) => this.#over.abort(new LeaseLostError(this.#request.attempt_id, error.code)),
    });
    const startedAt = performance.now();
    let end: EndedHarness;
    try {
      if (harness.callsModel) link.start();
      end = await runHarness({
        client: sandboxes,
        sandboxId: this.#sandboxId,
        plan,
        idempotencyKey: `${this.#request.attempt_id}#${this.#claim.epoch}`,
        wallMs: this.#wallMs,
        session,
        signal,
        fatal: fatal.signal,
        graceMs: this.#timings.graceMs,
      });
    } finally {
      await session.close();
      await link.stop();
      this.#time('harness_ms', startedAt);
    }
    this.#log = end.log;
    this.#remain({ exitCode: end.exit.exitCode });
    return outcomeOf({ harness, exit: end.exit, gatewayFailure: session.failure, budget: session.stopReason });
  }

  #plan({ harness, task }: Prepared, workdir: string): HarnessPlan {
    const { attempt_id: attemptId, deadline_at: expiresAt, policy } = this.#request;
    return harness.plan({
      instruction: task.instruction,
      workdir,
      baseUrl: `${MODEL_ENDPOINT}${attemptPath(attemptId)}`,
      apiKey: this.#ports.capabilities.issue({ attemptId, role: 'policy', expiresAt }),
      model: policy.model,
      wallMs: this.#wallMs,
      configJson: this.#request.harness.config_json,
      taskFiles: task.files,
      solutionEnv: harness.callsModel ? {} : resolveEnvironment(task.config.solution.env),
    });
  }

  #session(onFatal: (cause: Failure) => void): GatewaySession {
    return rolloutSession(this.#request, this.#ports, {
      runId: this.#runId,
      epoch: this.#claim.epoch,
      builder: this.#builder,
      objects: this.#objects,
      signal: this.#over.signal,
      patienceMs: this.#timings.patienceMs,
      onFatal,
      onFirstRecord: (offset) => void this.#report('harness', offset),
    });
  }

  async #snapshot(task: LoadedTask, access: AgentAccess): Promise<void> {
    this.#enter('snapshot');
    await this.#report('snapshot');
    const startedAt = performance.now();
    const signal = this.#over.signal;
    const handle = new SandboxHandle(this.#ports.sandboxes, this.#sandboxId, { signal });
    const tar = await captureWorkspace(handle, snapshotPlan(task, access.workdir));
    const snapshot = await this.#objects.put(tar, {
      prefix: `runs/${this.#runId}/snapshots`,
      mediaType: 'application/x-tar',
    });
    this.#remain({ snapshot });
    this.#time('snapshot_ms', startedAt);
  }

  async #record(outcome: RolloutOutcome): Promise<void> {
    this.#enter('record');
    let final = outcome;
    try {
      this.#remain({ body: await this.#putBody() });
    } catch (error) {
      if (this.#isLost()) return;
      // Without its body a trajectory cannot train; said as it is, the group asks for another attempt.
      final = outcome.status === 'CANCELLED' ? outcome : failed(failureOf(error, 'record'));
    }
    if (this.#isLost()) return;
    const { workerId, claimId, epoch } = this.#claim;
    const event = recordedEvent(this.#request, { workerId, claimId, epoch }, final, this.#remains);
    const limits = { deadlineAt: this.#request.deadline_at, isLost: () => this.#isLost() };
    await sendRecorded(this.#ports.producer, event, limits);
  }

  /** Stores what was recorded; null when nothing was. */
  async #putBody(): Promise<ObjectRef | null> {
    const built = this.#builder.build(this.#log);
    this.#remain({
      counts: built.counts,
      policyVersionMin: built.policyVersionMin,
      policyVersionMax: built.policyVersionMax,
      timing: { ...this.#remains.timing, model_ms: this.#builder.modelMs },
    });
    if (built.counts.model_calls === 0 && this.#log === '') return null;
    const body = encodeBody('trajectory.body', { ...built.body, instruction: this.#instruction });
    return this.#objects.put(body, { prefix: `runs/${this.#runId}/trajectories`, mediaType: 'application/avro' });
  }

  async #dispose(): Promise<void> {
    this.#lease?.stop();
    if (!this.#created) return;
    try {
      await this.#ports.sandboxes.delete(this.#sandboxId);
    } catch (error) {
      // Its lease ends it.
      this.#ports.logger.warn({ sandbox: this.#sandboxId, error: message(error) }, 'sandbox not deleted');
    }
  }

  /** The claim is another's, or given back: nothing may be produced for it. */
  #isLost(): boolean {
    const reason: unknown = this.#over.signal.reason;
    return this.#over.signal.aborted && (reason instanceof LeaseLostError || reason instanceof ReleasedError);
  }

  get #wallMs(): number {
    return Math.min(this.#request.limits.wall_ms, this.#request.task.agent_timeout_ms ?? Number.POSITIVE_INFINITY);
  }

  #enter(stage: Stage): void {
    if (stage !== 'record') this.#over.signal.throwIfAborted();
    this.#stage = stage;
  }

  #remain(change: Partial<RolloutRemains>): void {
    this.#remains = { ...this.#remains, ...change };
  }

  #time(part: 'sandbox_ms' | 'harness_ms' | 'snapshot_ms', startedAt: number): void {
    const timing = { ...this.#remains.timing, [part]: Math.round(performance.now() - startedAt) };
    this.#remain({ timing });
  }

  /** Reports a phase. A phase that could not be reported does not end the rollout. */
  async #report(phase: string, modelLogFrom?: number): Promise<void> {
    try {
      const extra = modelLogFrom === undefined ? {} : { modelLogFrom };
      await this.#claim.report(phase, { sandboxId: this.#sandboxId, ...extra });
    } catch (error) {
      this.#ports.logger.warn(
        { attempt: this.#request.attempt_id, phase, error: message(error) },
        'phase not reported',
      );
    }
  }
}
