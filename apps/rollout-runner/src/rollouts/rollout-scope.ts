import { trajectoryIdFor, type RolloutRequested } from '@espalier/contracts';
import type { Claim, ReportExtra } from '@espalier/kafka';
import type { Harness } from '@espalier/harnesses';
import type { LoadedTask } from '@espalier/tasks';
import { TrajectoryBuilder } from '@espalier/trajectory';
import { PatientStore } from '../objects/patient-store.ts';
import { sandboxIdFor } from '../sandboxes/sandbox-id.ts';
import type { RolloutPorts, RolloutTimings } from './rollout-ports.ts';

/** Kept free before the deadline for the terminal record, milliseconds. */
const RECORD_MARGIN_MS = 10_000;

/** A task and the harness that works on it. */
export interface Prepared {
  readonly task: LoadedTask;
  readonly harness: Harness;
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What the stages of one rollout share. */
export class RolloutScope {
  readonly request: RolloutRequested;
  readonly claim: Claim;
  readonly ports: RolloutPorts;
  readonly timings: RolloutTimings;
  readonly runId: string;
  /** Another runner began this attempt; this one goes on with it. */
  readonly adopts: boolean;
  readonly sandboxId: string;
  /** Aborted when the claim is over, the sandbox is lost, or someone else holds it. */
  readonly over = new AbortController();
  readonly objects: PatientStore;
  readonly builder: TrajectoryBuilder;

  constructor(request: RolloutRequested, claim: Claim, ports: RolloutPorts, timings: RolloutTimings) {
    this.request = request;
    this.claim = claim;
    this.ports = ports;
    this.timings = timings;
    this.runId = request.run_id ?? request.group_id.split('/', 1)[0] ?? '';
    const adopted = request.kind === 'ADOPT' ? request.sandbox_id : null;
    this.adopts = adopted !== null;
    this.sandboxId = adopted ?? sandboxIdFor(request.attempt_id, claim.epoch);
    this.objects = new PatientStore(
      ports.objects,
      request.deadline_at - RECORD_MARGIN_MS,
      this.over.signal,
      ({ code, message }, waitMs) =>
        ports.logger.warn(
          { attempt: request.attempt_id, code, error: message, waitMs },
          'the object store is waited for',
        ),
    );
    this.builder = new TrajectoryBuilder({
      trajectoryId: trajectoryIdFor(request.attempt_id),
      attemptId: request.attempt_id,
      taskId: request.task.task_id,
      harness: request.harness.name,
      model: request.policy.model,
      instruction: '',
    });
  }

  get signal(): AbortSignal {
    return this.over.signal;
  }

  /** Wall budget of the harness, milliseconds. */
  get wallMs(): number {
    return Math.min(this.request.limits.wall_ms, this.request.task.agent_timeout_ms ?? Number.POSITIVE_INFINITY);
  }

  /** Reports a phase. A phase that could not be reported does not end the rollout. */
  async report(phase: string, extra: Pick<ReportExtra, 'kind' | 'modelLogFrom'> = {}): Promise<void> {
    try {
      await this.claim.report(phase, { sandboxId: this.sandboxId, ...extra });
    } catch (error) {
      const fields = { attempt: this.request.attempt_id, phase, error: messageOf(error) };
      this.ports.logger.warn(fields, 'phase not reported');
    }
  }
}
