import { setTimeout as sleep } from 'node:timers/promises';
import type { ObjectRef, RewardReportedBody, ScoringRequested } from '@espalier/contracts';
import { CancelledError, LeaseLostError, ReleasedError, type Claim } from '@espalier/kafka';
import { ObjectStoreError } from '@espalier/objects';
import { SandboxError } from '@espalier/sandbox-client';
import {
  restoreWorkspace,
  snapshotPlan,
  TaskInvalidError,
  TaskPackageError,
  TaskUnsupportedError,
  unpackTask,
  verifyTask,
  WorkspaceError,
  type LoadedTask,
} from '@espalier/tasks';
import { changedProtectedFiles } from '../integrity/protected-files.ts';
import { ScoringSandbox } from '../sandboxes/scoring-sandbox.ts';
import { ScorerOptionsError, scorerOptions } from './scorer-options.ts';
import { rewardReported } from './scoring-event.ts';
import { DEFAULT_TIMINGS, type ScoringPorts, type ScoringTimings } from './scoring-ports.ts';
import { gated, rewardOf, unscored, verdictOf, type Verdict } from './verdict.ts';

/** A verdict with the verifier's output. */
interface Judged {
  readonly verdict: Verdict;
  readonly output: string;
}

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The verdict of an error: infrastructure always, so no score. */
export function verdictOfError(error: unknown): Verdict {
  const invalid =
    error instanceof TaskPackageError || error instanceof TaskInvalidError || error instanceof TaskUnsupportedError;
  if (invalid) return unscored('INFRA_ERROR', 'TASK_PACKAGE_INVALID', message(error), false);
  if (error instanceof ScorerOptionsError) return unscored('INFRA_ERROR', error.code, error.message, false);
  if (error instanceof ObjectStoreError) {
    return unscored('INFRA_ERROR', error.code, message(error), error.code !== 'OBJECT_MISSING');
  }
  if (error instanceof WorkspaceError) return unscored('INFRA_ERROR', 'SNAPSHOT_RESTORE', message(error), true);
  if (error instanceof SandboxError) return unscored('INFRA_ERROR', error.code, message(error), error.retryable);
  return unscored('INFRA_ERROR', 'SCORER_CRASH', message(error), true);
}

/**
 * Scores one trajectory by its task's own verifier: a fresh sandbox of the task's image, the workspace as the agent left it,
 * the hidden tests, the reward file. Ends with one `reward.reported`, or in silence when nobody wants the verdict any more.
 */
export class Scoring {
  readonly #request: ScoringRequested;
  readonly #claim: Claim;
  readonly #ports: ScoringPorts;
  readonly #timings: ScoringTimings;
  readonly #over = new AbortController();

  constructor(request: ScoringRequested, claim: Claim, ports: ScoringPorts, timings: ScoringTimings = DEFAULT_TIMINGS) {
    this.#request = request;
    this.#claim = claim;
    this.#ports = ports;
    this.#timings = timings;
  }

  /** Runs to the verdict. Rejects only when that could not be produced. */
  async run(): Promise<void> {
    const { signal, workerId, claimId, epoch } = this.#claim;
    const onClaimOver = (): void => this.#over.abort(signal.reason);
    if (signal.aborted) onClaimOver();
    else signal.addEventListener('abort', onClaimOver, { once: true });
    const startedAt = performance.now();
    try {
      const { verdict, output } = await this.#judge();
      if (this.#isUnwanted()) return;
      const latencyMs = performance.now() - startedAt;
      const evidence = await this.#putEvidence(output);
      const reward = rewardOf(this.#request, verdict);
      await this.#send(rewardReported(this.#request, { workerId, claimId, epoch }, reward, { latencyMs, evidence }));
      this.#ports.observer.scored(verdict.status, verdict.failure?.code ?? '', latencyMs);
    } finally {
      signal.removeEventListener('abort', onClaimOver);
    }
  }

  async #judge(): Promise<Judged> {
    try {
      return await this.#verify();
    } catch (error) {
      const reason: unknown = this.#over.signal.aborted ? this.#over.signal.reason : error;
      return { verdict: verdictOfError(reason), output: '' };
    }
  }

  async #verify(): Promise<Judged> {
    const { snapshot, task: spec, config_json: configJson } = this.#request;
    if (snapshot === null) {
      const verdict = unscored('SKIPPED', 'NO_SNAPSHOT', 'the trajectory has no workspace snapshot to score', false);
      return { verdict, output: '' };
    }
    const options = scorerOptions(configJson);
    const task = await unpackTask(await this.#ports.objects.get(spec.package));
    const workspace = await this.#ports.objects.get(snapshot);
    await this.#report();
    const { sandboxes } = this.#ports;
    const sandbox = await ScoringSandbox.create(
      sandboxes,
      this.#request,
      task,
      this.#claim.epoch,
      { ...this.#timings, setupMs: Math.min(this.#timings.setupMs, this.#timeLeft()) },
      this.#over,
    );
    try {
      const changed = await changedProtectedFiles(workspace, options.protected, sandbox.handle);
      if (changed.length > 0) return { verdict: gated(changed), output: '' };
      await restoreWorkspace(sandbox.handle, snapshotPlan(task, sandbox.workdir), workspace);
      return await this.#runVerifier(sandbox, task, options.reward_key);
    } finally {
      await sandbox.dispose();
    }
  }

  async #runVerifier(sandbox: ScoringSandbox, task: LoadedTask, rewardKey: string | undefined): Promise<Judged> {
    const own = this.#request.task.verifier_timeout_ms ?? task.config.verifier.timeout_sec * 1_000;
    const left = this.#timeLeft();
    const timeoutMs = Math.min(own, left);
    const result = await verifyTask(sandbox.handle, task, {
      timeoutMs,
      ...(rewardKey === undefined ? {} : { rewardKey }),
    });
    // What looks like a failing sandbox may be the claim's end, or the sandbox's.
    this.#over.signal.throwIfAborted();
    const output = result.run?.output ?? '';
    if (result.status === 'TIMEOUT' && left < own) {
      const late = `the deadline of the scoring left the verifier ${timeoutMs} ms of its ${own} ms`;
      return { verdict: unscored('TIMEOUT', 'SCORER_TIMEOUT', late, false), output };
    }
    return { verdict: verdictOf(result, timeoutMs), output };
  }

  /** Evidence is for people: a verdict is not lost over it. */
  async #putEvidence(output: string): Promise<ObjectRef | null> {
    if (output === '') return null;
    const runId = this.#request.run_id ?? this.#request.group_id.split('/', 1)[0] ?? '';
    try {
      return await this.#ports.objects.put(Buffer.from(output), {
        prefix: `runs/${runId}/evidence`,
        mediaType: 'text/plain; charset=utf-8',
      });
    } catch (error) {
      this.#ports.logger.warn({ work: this.#request.work_id, error: message(error) }, 'evidence not stored');
      return null;
    }
  }

  async #send(event: RewardReportedBody): Promise<void> {
    for (let wait = 100; ; wait = Math.min(wait * 2, 5_000)) {
      try {
        await this.#ports.producer.send('reward.reported', event);
        return;
      } catch (error) {
        const retryable = (error as { retryable?: unknown } | null)?.retryable === true;
        if (!retryable || Date.now() > this.#request.deadline_at) throw error;
        if (this.#isUnwanted()) return;
        await sleep(wait);
      }
    }
  }

  async #report(): Promise<void> {
    try {
      await this.#claim.report('scoring');
    } catch (error) {
      this.#ports.logger.warn({ work: this.#request.work_id, error: message(error) }, 'phase not reported');
    }
  }

  #timeLeft(): number {
    return Math.max(1, this.#request.deadline_at - this.#timings.marginMs - Date.now());
  }

  /** The group settled the scoring, or it is another's. */
  #isUnwanted(): boolean {
    const reason: unknown = this.#over.signal.reason;
    return (
      this.#over.signal.aborted &&
      (reason instanceof CancelledError || reason instanceof LeaseLostError || reason instanceof ReleasedError)
    );
  }
}
