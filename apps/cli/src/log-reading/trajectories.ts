import { decodeBody } from '@espalier/avro';
import type { TrajectoryBody, TrajectoryRecorded, TrajectoryScored } from '@espalier/contracts';
import type { KafkaPort } from '@espalier/kafka';
import type { ObjectStore } from '@espalier/objects';
import { eventsOf } from './read-topic.ts';

/** A trajectory as it was recorded, with the latest revision of its rewards. */
export interface StoredTrajectory {
  readonly recorded: TrajectoryRecorded;
  /** Null while it is not scored. */
  readonly scored: TrajectoryScored | null;
}

/** A trajectory on one line. */
export interface TrajectorySummary {
  readonly trajectory_id: string;
  readonly task: string;
  readonly status: string;
  readonly stop_reason: string;
  readonly reward: number | null;
  readonly passed: boolean | null;
  readonly revision: number | null;
  readonly turns: number;
  readonly sampled_tokens: number;
  readonly policy_version: number | null;
  readonly recorded_at: number;
}

/** All trajectories of a run, in the order in which they were recorded. The first record of an attempt counts. */
export async function readTrajectories(kafka: KafkaPort, runId: string): Promise<StoredTrajectory[]> {
  const scored = new Map<string, TrajectoryScored>();
  for await (const { value } of eventsOf(kafka, 'trajectory.scored', runId)) {
    const known = scored.get(value.trajectory_id);
    if (!known || value.revision > known.revision) scored.set(value.trajectory_id, value);
  }
  const found = new Map<string, StoredTrajectory>();
  for await (const { value } of eventsOf(kafka, 'trajectory.recorded', runId)) {
    if (found.has(value.trajectory_id)) continue;
    found.set(value.trajectory_id, { recorded: value, scored: scored.get(value.trajectory_id) ?? null });
  }
  return [...found.values()].sort((left, right) => left.recorded.occurred_at - right.recorded.occurred_at);
}

export function summaryOf({ recorded, scored }: StoredTrajectory): TrajectorySummary {
  return {
    trajectory_id: recorded.trajectory_id,
    task: recorded.group_id.split('/')[1] ?? '',
    status: recorded.status,
    stop_reason: recorded.failure?.code ?? recorded.stop_reason,
    reward: scored?.reward ?? null,
    passed: scored?.passed ?? null,
    revision: scored?.revision ?? null,
    turns: recorded.counts.turns,
    sampled_tokens: recorded.counts.sampled_tokens,
    policy_version: recorded.policy_version_max,
    recorded_at: recorded.occurred_at,
  };
}

/** The body of a trajectory; null when nothing was recorded. Throws what the object store throws. */
export async function readBody(objects: ObjectStore, { recorded }: StoredTrajectory): Promise<TrajectoryBody | null> {
  return recorded.body === null ? null : decodeBody('trajectory.body', await objects.get(recorded.body));
}
