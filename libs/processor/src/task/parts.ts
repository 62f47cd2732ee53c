import type { StateMachine } from '@espalier/contracts';
import type { KafkaLogger, KafkaPort, PartitionFollower, RangeReader } from '@espalier/kafka';
import type { PartitionState } from './changelog.ts';

/** Bounds of one transaction. */
export interface BatchLimits {
  readonly records: number;
  readonly outputs: number;
  readonly bytes: number;
  readonly timers: number;
}

/** What a task is built from. */
export interface TaskParts {
  readonly kafka: KafkaPort;
  readonly machine: StateMachine;
  readonly group: string;
  readonly partition: number;
  readonly partitions: number;
  readonly producerName: string;
  readonly follower: PartitionFollower;
  readonly reader: RangeReader;
  readonly limits: BatchLimits;
  /** How long after catching up no timer is judged, milliseconds. */
  readonly graceMs: number;
  readonly clock: () => number;
  readonly logger: KafkaLogger;
  /** State this process kept of the partition, folded up to some changelog offset. */
  readonly kept: PartitionState | undefined;
  /** False when the group has not been heard from for a session: others may own the partition. */
  readonly mayTransact: () => boolean;
  readonly onApplied: (records: number) => void;
}

/** How far a task is. */
export type TaskPhase = 'restoring' | 'running' | 'dropped';
