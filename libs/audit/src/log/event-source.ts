import type { TopicName } from '@espalier/contracts';

/** A record as it lies in the log. */
export interface RawRecord {
  readonly partition: number;
  readonly offset: number;
  /** Time the broker keeps for the record, milliseconds UTC. */
  readonly timestamp: number;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Null for a tombstone. */
  readonly value: Buffer | null;
}

/** First offset kept and the next offset to be written, of one partition. */
export interface PartitionBounds {
  readonly partition: number;
  readonly start: number;
  readonly end: number;
}

/**
 * Where an audit reads. Kafka is one ({@link kafkaEventSource}); a test feeds a copied log. Only committed records are
 * given, in offset order; offsets may have holes (transaction markers).
 */
export interface EventSource {
  bounds(topic: TopicName): Promise<readonly PartitionBounds[]>;
  /** Records with `from <= offset < to`. */
  read(topic: TopicName, partition: number, from: number, to: number): AsyncIterable<RawRecord>;
}
