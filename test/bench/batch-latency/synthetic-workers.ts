import { trajectoryIdFor, type EventMap, type ObjectRef } from '@espalier/contracts';
import type { Claim, KafkaPort, WorkConsumer } from '@espalier/kafka';
import { now } from '../measure/clock.ts';
import { TOKENS } from './bodies.ts';
import { BodyMaker } from './body-maker.ts';
import { Pacer } from './pacer.ts';
import { IN_FLIGHT } from './synthetic-run.ts';

/** How bodies come about. */
export type BodyMode = 'stored' | 'ready-made';

const READY_MADE = 64;

/**
 * A runner and a scorer without sandboxes, on the product's own work consumer: each claims, waits for the ruling, and
 * produces the one terminal event. Half of each group passes, so that every group is admitted.
 */
export class SyntheticWorkers {
  readonly pacer = new Pacer();
  /** When the broker acknowledged the reward of a trajectory. */
  readonly rewardedAt = new Map<string, number>();
  mode: BodyMode = 'stored';
  recorded = 0;
  readonly #kafka: KafkaPort;
  readonly #bodies: BodyMaker;
  readonly #ready: ObjectRef[] = [];
  readonly #consumers: WorkConsumer[];

  constructor(kafka: KafkaPort, objectsUrl: string) {
    this.#kafka = kafka;
    this.#bodies = new BodyMaker(objectsUrl);
    const fail = (_request: unknown, _claim: Claim, error: unknown): Promise<void> => Promise.reject(asError(error));
    this.#consumers = [
      kafka.consumeWork({
        topic: 'rollout.requested',
        group: 'rollout-runner',
        work: 'ROLLOUT',
        workerId: 'bench-runner',
        slots: IN_FLIGHT,
        handler: (request, claim) => this.#rollOut(request, claim),
        onFailure: fail,
      }),
      kafka.consumeWork({
        topic: 'scoring.requested',
        group: 'reward-scorer',
        work: 'SCORING',
        workerId: 'bench-scorer',
        slots: IN_FLIGHT,
        handler: (request, claim) => this.#score(request, claim),
        onFailure: fail,
      }),
    ];
  }

  async start(): Promise<void> {
    for (const consumer of this.#consumers) await consumer.start();
  }

  async stop(): Promise<void> {
    for (const consumer of this.#consumers) await consumer.stop();
    await this.#bodies.stop();
  }

  async #rollOut(request: EventMap['rollout.requested'], claim: Claim): Promise<void> {
    await this.pacer.pass();
    if (claim.signal.aborted) return;
    const body = await this.#bodyOf(request);
    await this.#kafka.producer().send('trajectory.recorded', {
      run_id: request.run_id,
      group_id: request.group_id,
      rollout_id: request.rollout_id,
      attempt_id: request.attempt_id,
      trajectory_id: trajectoryIdFor(request.attempt_id),
      worker_id: claim.workerId,
      claim_id: claim.claimId,
      epoch: claim.epoch,
      status: 'COMPLETED',
      stop_reason: 'SUBMITTED',
      body,
      counts: { model_calls: 15, turns: 15, prompt_tokens: 0, sampled_tokens: TOKENS / 2, samples: 1, tool_calls: 15 },
      policy_version_min: 0,
      policy_version_max: 0,
      timing: { queue_ms: 0, sandbox_ms: 0, harness_ms: 0, model_ms: 0, snapshot_ms: 0 },
      harness: request.harness,
      idempotency_key: `${request.attempt_id}#${claim.epoch}`,
    });
    this.recorded += 1;
  }

  async #bodyOf(request: EventMap['rollout.requested']): Promise<ObjectRef> {
    if (this.mode === 'ready-made' && this.#ready.length >= READY_MADE)
      return this.#ready[this.recorded % READY_MADE] ?? Promise.reject(new Error('no ready-made body'));
    const ref = await this.#bodies.make(request);
    if (this.#ready.length < READY_MADE) this.#ready.push(ref);
    return ref;
  }

  async #score(request: EventMap['scoring.requested'], claim: Claim): Promise<void> {
    const index = Number(/\/r(\d+)\/a\d+\/t$/.exec(request.trajectory_id)?.[1] ?? 0);
    await this.#kafka.producer().send('reward.reported', {
      run_id: request.run_id,
      group_id: request.group_id,
      attempt_id: request.attempt_id,
      trajectory_id: request.trajectory_id,
      work_id: request.work_id,
      worker_id: claim.workerId,
      claim_id: claim.claimId,
      epoch: claim.epoch,
      reward: {
        scorer: request.scorer,
        scorer_version: request.scorer_version,
        status: 'OK',
        score: index % 2,
        required: request.required,
      },
      latency_ms: 0,
      idempotency_key: `${request.work_id}#${claim.epoch}`,
    });
    this.rewardedAt.set(request.trajectory_id, now());
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
