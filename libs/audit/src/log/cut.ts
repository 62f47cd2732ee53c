import type { TopicName } from '@espalier/contracts';
import type { EventSource, PartitionBounds } from './event-source.ts';

/**
 * The topics an audit reads, downstream first. End offsets are read in this order, one topic after the other: the cause
 * of a record is always written before its effect, so whatever lies below the cut of a downstream topic has its cause
 * below the cut of the upstream one. `policy.published` stands upstream of the trajectories that were sampled with it.
 */
export const CUT_ORDER = [
  'ranking.decided',
  'run.reported',
  'batch.trained',
  'learner.joined',
  'batch.offered',
  'group.decided',
  'rollout.ended',
  'trajectory.scored',
  'reward.reported',
  'scoring.requested',
  'trajectory.recorded',
  'model.called',
  'policy.published',
  'sandbox.reported',
  'rollout.ruled',
  'rollout.reported',
  'rollout.requested',
  'group.commanded',
  'group.opened',
  'run.commanded',
  'task.submitted',
  'run.submitted',
  'journal.group',
  'journal.run',
] as const satisfies readonly TopicName[];

/** A topic that is part of the cut. `rollout.alive` is minutes old at most, `state.*` is compacted: neither proves anything. */
export type AuditedTopic = (typeof CUT_ORDER)[number];

/** What an audit judges, and nothing beyond: per topic and partition the first and the last offset (exclusive). */
export interface Cut {
  /** When the first end offset was read, milliseconds UTC. */
  readonly takenAt: number;
  readonly bounds: ReadonlyMap<AuditedTopic, readonly PartitionBounds[]>;
}

/** Takes a consistent cut: end offsets of downstream topics before those of upstream ones. */
export async function takeCut(source: EventSource, now: () => number): Promise<Cut> {
  const takenAt = now();
  const bounds = new Map<AuditedTopic, readonly PartitionBounds[]>();
  for (const topic of CUT_ORDER) bounds.set(topic, await source.bounds(topic));
  return { takenAt, bounds };
}
