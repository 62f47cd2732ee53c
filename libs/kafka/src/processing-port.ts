import type { ConsumerTimings, OutgoingRecord, RawRecord } from './port.ts';

/** Which partitions a member has, by physical topic. Valid for one generation. */
export interface GroupAssignment {
  readonly generation: number;
  readonly partitions: ReadonlyMap<string, readonly number[]>;
}

/** Options of {@link KafkaPort.joinGroup}. */
export interface GroupOptions {
  /** Group without prefix. */
  readonly group: string;
  /** Physical topics. */
  readonly topics: readonly string[];
  /** Give partition i of every topic to one member (needs equal partition counts). Default false. */
  readonly coPartitioned?: boolean;
  readonly timings?: Partial<ConsumerTimings>;
  /** A new generation; called after `onRevoked` of the former one. */
  readonly onAssigned: (assignment: GroupAssignment) => void;
  /** The assignment is no longer valid: drop everything that depends on it, now. */
  readonly onRevoked: () => void;
  /** Rejoining failed five times within two minutes: end the process. */
  readonly onFatal: (error: Error) => void;
}

/** Membership of a consumer group that assigns partitions and fetches nothing. */
export interface GroupMembership {
  /** Resolves at the first assignment. Throws `KAFKA_UNAVAILABLE` after a minute. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Leaves and joins again, which starts a new generation. */
  rejoin(reason: string): void;
  /** Commits next offsets under the current generation. Throws `KAFKA_FENCED` when `generation` is not the current one. */
  commit(generation: number, offsets: readonly CommitOffset[]): Promise<void>;
  /** The current assignment; undefined while there is none. */
  assignment(): GroupAssignment | undefined;
  /** Milliseconds since the coordinator last answered a heartbeat or join. */
  silentForMs(): number;
}

/** The next offset to consume of a partition. */
export interface CommitOffset {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

/** A stretch of a partition: its data records, and where the next stretch begins. */
export interface RecordChunk {
  readonly records: readonly RawRecord[];
  /** Past the last offset seen, transaction markers and aborted records included. */
  readonly nextOffset: number;
  /** End of committed data when this was fetched. */
  readonly endOffset: number;
}

/** One followed partition: committed records from an offset on, prefetched within bounds. */
export interface PartitionStream {
  readonly topic: string;
  readonly partition: number;
  /** The next chunk if one is there. */
  take(): RecordChunk | undefined;
  /** Resolves when {@link take} may give a chunk, or the stream is closed. */
  ready(): Promise<void>;
  /** Records fetched and not taken. */
  readonly buffered: number;
  /** First offset not yet fetched. */
  readonly position: number;
  /** End of committed data as last seen; -1 before the first answer. */
  readonly endOffset: number;
  /** Milliseconds UTC of the broker's last answer for this partition. */
  readonly answeredAt: number;
  /** Stops fetching; what is buffered stays. */
  pause(): void;
  resume(): void;
  readonly closed: boolean;
  close(): void;
}

/** Options of one followed partition. */
export interface FollowOptions {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** Fetch no further while at least this many records wait; default 500. */
  readonly bufferRecords?: number;
  /** Called whenever a chunk arrives, besides {@link PartitionStream.ready}. */
  readonly onChunk?: () => void;
  /** The offset is not in the log (expired, or the topic was made anew): following goes on at `to`. */
  readonly onGap?: (from: number, to: number) => void;
}

/** Fetches many partitions over one connection a broker, each as fast as it is consumed. */
export interface PartitionFollower {
  open(options: FollowOptions): PartitionStream;
  close(): Promise<void>;
}

/** What one transaction does. */
export interface TransactionContent {
  readonly records: readonly OutgoingRecord[];
  /** Offsets to commit with it, for a group without prefix. */
  readonly offsets?: { readonly group: string; readonly offsets: readonly CommitOffset[] };
}

/** A producer of one transactional id. The first transaction fences every earlier holder of the id. */
export interface TransactionalProducer {
  /** Connects. */
  open(): Promise<void>;
  /**
   * All or nothing. Returns the offset of each record, in order. Throws `KAFKA_FENCED` or `KAFKA_UNAVAILABLE`; after any throw
   * the outcome is unknown and the producer must be closed.
   */
  transact(content: TransactionContent): Promise<readonly number[]>;
  close(): Promise<void>;
}
