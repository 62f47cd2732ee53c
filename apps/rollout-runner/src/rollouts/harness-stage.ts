import type { Failure, ModelCalled } from '@espalier/contracts';
import { attemptPath, type GatewaySession } from '@espalier/gateway';
import type { HarnessPlan } from '@espalier/harnesses';
import { LeaseLostError } from '@espalier/kafka';
import type { AgentAccess } from '@espalier/sandbox-client';
import { resolveEnvironment } from '@espalier/tasks';
import { ModelLink } from '../model-calls/model-link.ts';
import { rolloutSession } from '../model-calls/rollout-session.ts';
import { runHarness } from './harness-run.ts';
import { outcomeOf, type RolloutOutcome } from './outcome.ts';
import type { Prepared, RolloutScope } from './rollout-scope.ts';

/** Where the agent answers inside the sandbox. */
const MODEL_ENDPOINT = 'http://127.0.0.1:4010';

/** What the harness stage leaves. */
export interface HarnessStageEnd {
  readonly outcome: RolloutOutcome;
  readonly exitCode: number | null;
  /** What the harness printed. */
  readonly log: string;
}

/**
 * Starts the harness, or goes on with one that another runner started, serves its model calls, and waits for its end. Throws
 * what ended the rollout from outside.
 */
export async function harnessStage(
  scope: RolloutScope,
  prepared: Prepared,
  access: AgentAccess,
): Promise<HarnessStageEnd> {
  const { request, claim, ports, sandboxId, adopts, signal, over } = scope;
  const { harness } = prepared;
  const plan = planOf(scope, prepared, access.workdir);
  for (const { path, content, mode } of adopts ? [] : plan.files) {
    await ports.sandboxes.putFile(sandboxId, path, content, { mode, signal });
  }
  await scope.report('harness');
  const fatal = new AbortController();
  const session = Promise.withResolvers<GatewaySession>();
  // Whoever serves a call sees the rejection; without a call nobody does.
  session.promise.catch(() => undefined);
  const link = new ModelLink({
    access,
    epoch: claim.epoch,
    open: ports.openStream,
    handle: async (call, to) => (await session.promise).handle(call, to),
    onStale: (error) => over.abort(new LeaseLostError(request.attempt_id, error.code)),
  });
  let served: GatewaySession | null = null;
  try {
    if (harness.callsModel) link.start();
    const restored = adopts ? await restore(scope, harness.callsModel ? link.opened : Promise.resolve()) : [];
    served = sessionOf(scope, restored, (cause) => fatal.abort(cause));
    session.resolve(served);
    const { exit, log } = await runHarness({
      client: ports.sandboxes,
      sandboxId,
      plan,
      // The same for every holder: an adopter that starts the harness finds the one that runs.
      idempotencyKey: `${request.attempt_id}/harness`,
      wallMs: scope.wallMs,
      adopts,
      session: served,
      signal,
      fatal: fatal.signal,
      graceMs: scope.timings.graceMs,
    });
    const outcome = outcomeOf({ harness, exit, gatewayFailure: served.failure, budget: served.stopReason });
    return { outcome, exitCode: exit.exitCode, log };
  } finally {
    session.reject(new LeaseLostError(request.attempt_id, 'ENDED'));
    await served?.close();
    await link.stop();
  }
}

function planOf({ request, ports, wallMs }: RolloutScope, { harness, task }: Prepared, workdir: string): HarnessPlan {
  const { attempt_id: attemptId, deadline_at: expiresAt, policy } = request;
  return harness.plan({
    instruction: task.instruction,
    workdir,
    baseUrl: `${MODEL_ENDPOINT}${attemptPath(attemptId)}`,
    apiKey: ports.capabilities.issue({ attemptId, role: 'policy', expiresAt }),
    model: policy.model,
    wallMs,
    configJson: request.harness.config_json,
    taskFiles: task.files,
    solutionEnv: harness.callsModel ? {} : resolveEnvironment(task.config.solution.env),
  });
}

/**
 * Rebuilds the attempt from its log. The stream is open before the mark is set: a holder that was superseded can record, but
 * not answer any more, so nothing the harness knows is missing from what is read.
 */
async function restore(scope: RolloutScope, opened: Promise<void>): Promise<ModelCalled[]> {
  await raceAbort(opened, scope.signal);
  const { request, claim, runId, builder } = scope;
  const attempt = { runId, groupId: request.group_id, attemptId: request.attempt_id };
  const records = await scope.ports.log.adopt(attempt, claim.epoch, claim.modelLogFrom ?? request.model_log_from);
  const counted = records.filter((record) => builder.apply(record));
  await scope.report('harness', { kind: 'ADOPTED' });
  return counted;
}

function sessionOf(
  scope: RolloutScope,
  restored: readonly ModelCalled[],
  onFatal: (cause: Failure) => void,
): GatewaySession {
  return rolloutSession(scope.request, scope.ports, {
    runId: scope.runId,
    epoch: scope.claim.epoch,
    builder: scope.builder,
    restored,
    objects: scope.objects,
    signal: scope.signal,
    patienceMs: scope.timings.patienceMs,
    onFatal,
    onFirstRecord: (offset) => {
      // An adopter's first record is not the attempt's.
      if (!scope.adopts) void scope.report('harness', { modelLogFrom: offset });
    },
  });
}

/** Resolves with `work`; rejects with the signal's reason when that aborts first. */
function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
