/** What kind of records a topic holds; decides its retention. */
export type TopicKind = 'fact' | 'work' | 'heartbeat' | 'ruling' | 'journal' | 'state' | 'retry' | 'dead';

/** A topic as the catalogue lists it. */
export interface CatalogueTopic {
  /** Field of the event that is the record key; null where the processor chooses the key. */
  readonly key: string | null;
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly kind: string;
  /** Consumer groups (without prefix) with their retry delays in milliseconds; each has a dead-letter topic. */
  readonly consumers: readonly { readonly group: string; readonly retryDelaysMs: readonly number[] }[];
}

/** Storage settings of one kind of topic. */
export interface KindSettings {
  readonly retentionMs?: number;
  readonly segmentBytes: number;
  readonly compact?: boolean;
  readonly maxCompactionLagMs?: number;
  readonly minCleanableDirtyRatio?: number;
}

/** A deployment size. */
export interface TopicProfile {
  /** Partitions of every topic; fixed per prefix, since keys of one run or group must meet in one partition number. */
  readonly partitions: number;
  readonly replication: number;
  readonly minInsyncReplicas: number;
  readonly kinds: Readonly<Record<TopicKind, KindSettings>>;
}
