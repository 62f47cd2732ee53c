import type { KafkaLogger } from '../port.ts';
import { LeaseLostError, reasonOf } from '../errors.ts';
import type { EventProducer } from '../port.ts';
import { partitionFor } from '../produce/partitioner.ts';
import type { ActiveClaim } from './held-claim.ts';

/**
 * Says `rollout.alive` for the granted claims, one record a group partition, and ends claims whose lease ran out because no
 * alive could be stored: by then the group has given the work to somebody else.
 */
export class Heartbeats {
  readonly #producer: EventProducer;
  readonly #claims: () => Iterable<ActiveClaim>;
  readonly #settings: { workerId: string; partitions: number; aliveMs: number; leaseMs: number; logger: KafkaLogger };
  #beat: NodeJS.Timeout | undefined;
  #judge: NodeJS.Timeout | undefined;
  #beating = false;

  constructor(
    producer: EventProducer,
    claims: () => Iterable<ActiveClaim>,
    settings: { workerId: string; partitions: number; aliveMs: number; leaseMs: number; logger: KafkaLogger },
  ) {
    this.#producer = producer;
    this.#claims = claims;
    this.#settings = settings;
  }

  start(): void {
    const { aliveMs, leaseMs } = this.#settings;
    this.#beat = setInterval(() => void this.beat(), aliveMs);
    this.#judge = setInterval(() => this.#endLapsed(), Math.max(50, Math.min(1000, leaseMs / 10)));
  }

  stop(): void {
    clearInterval(this.#beat);
    clearInterval(this.#judge);
  }

  /** One round; a round still under way is not doubled. */
  async beat(): Promise<void> {
    // A frozen process comes back here first: what has lapsed must not be renewed in its own name.
    this.#endLapsed();
    if (this.#beating) return;
    this.#beating = true;
    try {
      const byPartition = new Map<number, ActiveClaim[]>();
      for (const claim of this.#claims()) {
        if (claim.state !== 'granted' || claim.signal.aborted) continue;
        const partition = partitionFor(claim.groupId, this.#settings.partitions);
        byPartition.set(partition, [...(byPartition.get(partition) ?? []), claim]);
      }
      await Promise.all([...byPartition].map(([partition, claims]) => this.#say(partition, claims)));
    } finally {
      this.#beating = false;
    }
  }

  async #say(partition: number, claims: readonly ActiveClaim[]): Promise<void> {
    const { workerId, logger } = this.#settings;
    const at = Date.now();
    try {
      await this.#producer.send(
        'rollout.alive',
        {
          worker_id: workerId,
          partition,
          work: claims.map(({ workId, groupId, epoch }) => ({ work_id: workId, group_id: groupId, epoch })),
        },
        { partition, key: workerId },
      );
      for (const claim of claims) claim.renewedAt = Math.max(claim.renewedAt, at);
    } catch (error) {
      logger.warn({ partition, claims: claims.length, error: reasonOf(error) }, 'alive not stored');
    }
  }

  #endLapsed(): void {
    const now = Date.now();
    for (const claim of this.#claims())
      if (claim.state === 'granted' && !claim.signal.aborted && now - claim.renewedAt > this.#settings.leaseMs)
        claim.stop(new LeaseLostError(claim.workId, 'LEASE_EXPIRED'));
  }
}
