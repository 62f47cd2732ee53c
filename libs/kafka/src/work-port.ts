import type { EventMap, RolloutReported, WorkKind } from '@espalier/contracts';
import type { DecodeError } from '@espalier/avro';
import type { Consumer, ConsumerTimings, RawRecord } from './port.ts';

/** Topics whose records are claimed. */
export type WorkTopic = 'rollout.requested' | 'scoring.requested';

/** The request type of a work topic. */
export type EventOf<T extends WorkTopic> = EventMap[T];

/** A granted claim: the right to do one piece of work under `epoch`. */
export interface Claim {
  /** The attempt id, or the scoring request's id. */
  readonly workId: string;
  readonly groupId: string;
  readonly attemptId: string;
  readonly runId: string | null;
  /** Carried by everything done under this claim. */
  readonly epoch: number;
  readonly claimId: string;
  readonly workerId: string;
  /** GRANTED of an adoption: first offset of the attempt in its model.called partition. */
  readonly modelLogFrom: number | null;
  /** Aborted with {@link CancelledError}, {@link LeaseLostError} or {@link ReleasedError} as reason. */
  readonly signal: AbortSignal;
  /** Reports a phase (`sandbox`, `harness`, `snapshot`, `scoring`) or that a running attempt was adopted. */
  report(phase: string, extra?: ReportExtra): Promise<void>;
  /** Gives the work back: reports RELEASED and aborts the signal. The group may ask another worker. */
  release(reason: string): Promise<void>;
}

/** More to say in a report. */
export interface ReportExtra {
  /** Default `PHASE`. */
  readonly kind?: Extract<RolloutReported['kind'], 'PHASE' | 'ADOPTED'>;
  readonly sandboxId?: string;
  readonly modelLogFrom?: number;
}

/** Options of {@link KafkaPort.consumeWork}. */
export interface WorkOptions<T extends WorkTopic> {
  readonly topic: T;
  /** Consumer group without prefix; a consumer of `topic` in the catalogue. */
  readonly group: string;
  readonly work: Exclude<WorkKind, 'UNKNOWN'>;
  /** Names this worker instance in claims. Unique among live workers. */
  readonly workerId: string;
  /** Most claims held at a time. */
  readonly slots: number;
  /** False: this worker's group does not do this request; it is skipped and committed. */
  readonly accepts?: (request: EventOf<T>) => boolean;
  /** Runs under a grant; produces its own terminal event, also when cancelled. */
  readonly handler: (request: EventOf<T>, claim: Claim) => Promise<void>;
  /** The handler threw while the claim was held: must produce the failure event. Retried three times, then the claim is released. */
  readonly onFailure: (request: EventOf<T>, claim: Claim, error: unknown) => Promise<void>;
  /** A request that does not decode was dead-lettered: produce the failure event for the ids in its headers. */
  readonly onUndecodable?: (record: RawRecord, error: DecodeError) => Promise<void>;
  readonly timings?: Partial<WorkTimings>;
}

/** Times of work consumers, milliseconds. */
export interface WorkTimings extends ConsumerTimings {
  /** Between two `rollout.alive` of a partition; default 5,000. */
  readonly aliveMs: number;
  /** A claim whose alive could not be produced for this long aborts itself; default 15,000. */
  readonly leaseMs: number;
  /** A claim without a ruling is sent again after this long (doubling up to five times it); default 2,000. */
  readonly claimMs: number;
  /** A claim without any ruling is given up after this long; default 120,000. */
  readonly claimGiveUpMs: number;
  /** A request that found no free slot for this long is handed to another partition; default 3,000. */
  readonly redirectMs: number;
}

/** A claim as {@link WorkConsumer.held} lists it. */
export interface HeldClaim {
  readonly workId: string;
  readonly groupId: string;
  readonly claimId: string;
  readonly epoch: number;
  readonly state: 'claiming' | 'granted';
}

/** Claims work and runs handlers under grants. */
export interface WorkConsumer extends Consumer {
  /** Stops claiming, waits until `deadlineMs` from now for what is held, releases the rest with `DRAINING`. */
  drain(deadlineMs: number): Promise<void>;
  slotsFree(): number;
  held(): readonly HeldClaim[];
}
