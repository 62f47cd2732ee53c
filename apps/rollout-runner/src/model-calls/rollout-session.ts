import type { Failure, ModelCalled, RolloutRequested } from '@espalier/contracts';
import { GatewaySession, type BodyStore } from '@espalier/gateway';
import type { TrajectoryBuilder } from '@espalier/trajectory';
import type { RolloutPorts } from '../rollouts/rollout-ports.ts';
import { KafkaCallRecorder } from './kafka-call-recorder.ts';

/** What the gateway session of a rollout needs beyond the request. */
export interface RolloutSessionOptions {
  readonly runId: string;
  readonly epoch: number;
  /** Fed with `restored`. */
  readonly builder: TrajectoryBuilder;
  /** Records of the attempt before this claim. */
  readonly restored: readonly ModelCalled[];
  readonly objects: BodyStore;
  readonly signal: AbortSignal;
  readonly patienceMs: number;
  readonly onFatal: (cause: Failure) => void;
  readonly onFirstRecord: (offset: number) => void;
}

/** The gateway session that serves a rollout's harness and records into `model.called`. */
export function rolloutSession(
  request: RolloutRequested,
  ports: Pick<RolloutPorts, 'producer' | 'upstream' | 'capabilities' | 'observer'>,
  { runId, epoch, builder, restored, objects, signal, patienceMs, onFatal, onFirstRecord }: RolloutSessionOptions,
): GatewaySession {
  const { producer, upstream, capabilities, observer } = ports;
  const recorder = new KafkaCallRecorder({ producer, objects, runId, signal, patienceMs, onFirst: onFirstRecord });
  return new GatewaySession(
    {
      runId,
      epoch,
      groupId: request.group_id,
      rolloutId: request.rollout_id,
      attemptId: request.attempt_id,
      policy: request.policy,
      limits: request.limits,
      seed: request.seed,
      policyVersion: request.policy_version,
      wallDeadline: null,
    },
    builder,
    { recorder, upstream, capabilities, observer, onFatal },
    restored,
  );
}
