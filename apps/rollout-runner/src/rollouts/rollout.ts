import type { ObjectRef, RolloutRequested } from '@espalier/contracts';
import { encodeBody } from '@espalier/avro';
import { harnessConfigHash, harnessFor } from '@espalier/harnesses';
import { CancelledError, LeaseLostError, ReleasedError, type Claim } from '@espalier/kafka';
import { SandboxHandle, type AgentAccess } from '@espalier/sandbox-client';
import { captureWorkspace, snapshotPlan, unpackTask, type LoadedTask } from '@espalier/tasks';
import { HeldSandbox } from '../sandboxes/held-sandbox.ts';
import { sandboxSpec } from '../sandboxes/sandbox-spec.ts';
import { failure, failureOf, type Stage } from './failures.ts';
import { harnessStage } from './harness-stage.ts';
import { cancelled, failed, isScorable, type RolloutOutcome } from './outcome.ts';
import { NOTHING, recordedEvent, type RolloutRemains } from './recorded-event.ts';
import { DEFAULT_TIMINGS, type RolloutPorts, type RolloutTimings } from './rollout-ports.ts';
import { messageOf, RolloutScope, type Prepared } from './rollout-scope.ts';
import { sendRecorded } from './send-recorded.ts';

/**
 * One attempt under one claim: sandbox, harness, model calls, snapshot, and the one terminal record. It ends in silence when
 * the claim is lost or given back; its sandbox is ended then, or left to an adopter where that is configured.
 */
export class Rollout {
  readonly #scope: RolloutScope;
  readonly #claimedAt = Date.now();
  #stage: Stage = 'package';
  #sandbox: HeldSandbox | null = null;
  /** The sandbox may exist. */
  #began = false;
  /** The harness runs, and can be left to an adopter. */
  #detachable = false;
  #log = '';
  #instruction = '';
  #remains: RolloutRemains = NOTHING;

  constructor(request: RolloutRequested, claim: Claim, ports: RolloutPorts, timings: RolloutTimings = DEFAULT_TIMINGS) {
    this.#scope = new RolloutScope(request, claim, ports, timings);
  }

  /** Runs to the terminal record. Rejects only when that could not be produced. */
  async run(): Promise<void> {
    const { claim, request, ports, over } = this.#scope;
    const onClaimOver = (): void => over.abort(claim.signal.reason);
    if (claim.signal.aborted) onClaimOver();
    else claim.signal.addEventListener('abort', onClaimOver, { once: true });
    const queueMs = Math.max(0, this.#claimedAt - request.occurred_at);
    this.#remain({ timing: { ...NOTHING.timing, queue_ms: queueMs } });
    try {
      const outcome = await this.#outcome();
      if (this.#isLost()) {
        ports.observer.ended('ABANDONED', (over.signal.reason as LeaseLostError | ReleasedError).code);
        return;
      }
      await this.#record(outcome);
      ports.observer.ended(outcome.status, outcome.failure?.code ?? '');
    } finally {
      claim.signal.removeEventListener('abort', onClaimOver);
      await this.#dispose();
    }
  }

  /** How it ended, whatever happened. */
  async #outcome(): Promise<RolloutOutcome> {
    try {
      return await this.#work();
    } catch (error) {
      const { signal } = this.#scope;
      const reason: unknown = signal.aborted ? signal.reason : error;
      if (reason instanceof CancelledError) return cancelled(reason.reason);
      return failed(failureOf(reason, this.#stage));
    }
  }

  async #work(): Promise<RolloutOutcome> {
    if (this.#scope.request.policy.adapter === 'TOKENS') {
      return failed(failure('INFRA', 'LLM_ADAPTER', 'the tokens adapter is not available here', 'package', false));
    }
    const prepared = await this.#prepare();
    const access = await this.#obtainSandbox(prepared);
    const outcome = await this.#runHarness(prepared, access);
    if (isScorable(outcome)) await this.#snapshot(prepared.task, access);
    return outcome;
  }

  async #prepare(): Promise<Prepared> {
    const { harness: wanted, task: spec } = this.#scope.request;
    const harness = harnessFor(wanted.name, wanted.version);
    this.#remain({ configHash: harnessConfigHash(harness, wanted.config_json) });
    const task = await unpackTask(await this.#scope.ports.objects.get(spec.package));
    this.#instruction = task.instruction;
    return { harness, task };
  }

  /** A fresh sandbox, or, in an adoption, the one that the attempt runs in. */
  async #obtainSandbox(prepared: Prepared): Promise<AgentAccess> {
    this.#enter('sandbox');
    const { request, ports, timings, sandboxId, runId, adopts, signal, over } = this.#scope;
    const startedAt = performance.now();
    const hold = {
      renewMs: timings.renewMs,
      setupMs: request.limits.setup_ms,
      signal,
      onLost: (error: Error) => over.abort(error),
    };
    if (!adopts) await this.#scope.report('sandbox');
    this.#remain({ sandboxId });
    this.#began = true;
    this.#sandbox = adopts
      ? await HeldSandbox.attach(ports.sandboxes, sandboxId, hold)
      : await HeldSandbox.create(
          ports.sandboxes,
          sandboxSpec(request, prepared, { sandboxId, runId, leaseMs: timings.leaseMs }),
          hold,
        );
    this.#remain({ isolation: this.#sandbox.access.isolation });
    this.#time('sandbox_ms', startedAt);
    return this.#sandbox.access;
  }

  async #runHarness(prepared: Prepared, access: AgentAccess): Promise<RolloutOutcome> {
    this.#enter('harness');
    this.#detachable = prepared.harness.adoptable && this.#scope.timings.detach;
    const startedAt = performance.now();
    try {
      const { outcome, exitCode, log } = await harnessStage(this.#scope, prepared, access);
      this.#log = log;
      this.#remain({ exitCode });
      return outcome;
    } finally {
      this.#time('harness_ms', startedAt);
    }
  }

  async #snapshot(task: LoadedTask, access: AgentAccess): Promise<void> {
    this.#enter('snapshot');
    const { ports, sandboxId, signal, objects, runId } = this.#scope;
    await this.#scope.report('snapshot');
    const startedAt = performance.now();
    const handle = new SandboxHandle(ports.sandboxes, sandboxId, { signal });
    const tar = await captureWorkspace(handle, snapshotPlan(task, access.workdir));
    const snapshot = await objects.put(tar, { prefix: `runs/${runId}/snapshots`, mediaType: 'application/x-tar' });
    this.#remain({ snapshot });
    this.#time('snapshot_ms', startedAt);
  }

  async #record(outcome: RolloutOutcome): Promise<void> {
    this.#enter('record');
    const { request, claim, ports } = this.#scope;
    let final = outcome;
    try {
      this.#remain({ body: await this.#putBody() });
    } catch (error) {
      // Without its body a trajectory cannot train; said as it is, the group asks for another attempt.
      final = outcome.status === 'CANCELLED' ? outcome : failed(failureOf(error, 'record'));
    }
    if (this.#isLost()) return;
    const { workerId, claimId, epoch } = claim;
    const event = recordedEvent(request, { workerId, claimId, epoch }, final, this.#remains);
    await sendRecorded(ports.producer, event, { deadlineAt: request.deadline_at, isLost: () => this.#isLost() });
  }

  /** Stores what was recorded; null when nothing was. */
  async #putBody(): Promise<ObjectRef | null> {
    const { builder, objects, runId } = this.#scope;
    const { body, counts, policyVersionMin, policyVersionMax } = builder.build(this.#log);
    const timing = { ...this.#remains.timing, model_ms: builder.modelMs };
    this.#remain({ counts, policyVersionMin, policyVersionMax, timing });
    if (counts.model_calls === 0 && this.#log === '') return null;
    return objects.put(encodeBody('trajectory.body', { ...body, instruction: this.#instruction }), {
      prefix: `runs/${runId}/trajectories`,
      mediaType: 'application/avro',
    });
  }

  async #dispose(): Promise<void> {
    this.#sandbox?.letGo();
    if (!this.#began || (this.#detachable && this.#isLost())) return;
    const { ports, sandboxId } = this.#scope;
    try {
      await ports.sandboxes.delete(sandboxId);
    } catch (error) {
      // Its lease ends it.
      ports.logger.warn({ sandbox: sandboxId, error: messageOf(error) }, 'sandbox not deleted');
    }
  }

  /** The claim is another's, or given back: nothing may be produced for it. */
  #isLost(): boolean {
    const { signal } = this.#scope;
    const reason: unknown = signal.reason;
    return signal.aborted && (reason instanceof LeaseLostError || reason instanceof ReleasedError);
  }

  #enter(stage: Stage): void {
    if (stage !== 'record') this.#scope.signal.throwIfAborted();
    this.#stage = stage;
  }

  #remain(change: Partial<RolloutRemains>): void {
    this.#remains = { ...this.#remains, ...change };
  }

  #time(part: 'sandbox_ms' | 'harness_ms' | 'snapshot_ms', startedAt: number): void {
    const timing = { ...this.#remains.timing, [part]: Math.round(performance.now() - startedAt) };
    this.#remain({ timing });
  }
}
