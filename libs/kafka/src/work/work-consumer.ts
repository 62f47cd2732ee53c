import { topicOf } from '@espalier/contracts';
import { silentLogger } from '../client/log.ts';
import { FailureRouter, retryDelays } from '../consume/dead-letter.ts';
import { GroupStreams } from '../consume/group-streams.ts';
import { within } from '../consume/within.ts';
import { CancelledError, LeaseLostError, reasonOf, ReleasedError } from '../errors.ts';
import { DEFAULT_TIMINGS } from '../groups/membership.ts';
import type { EventProducer, KafkaConnection, KafkaLogger, TopicAdmin } from '../port.ts';
import type { BatchingProducer } from '../produce/batching-producer.ts';
import type { HeldClaim, WorkConsumer, WorkOptions, WorkTimings, WorkTopic } from '../work-port.ts';
import { Heartbeats } from './heartbeats.ts';
import { ActiveClaim } from './held-claim.ts';
import { READ_AHEAD, ReadAhead } from './read-ahead.ts';
import { subjectOf, takeNext, type WaitingRequest } from './requests.ts';
import { redirect, redirectDue } from './redirect.ts';
import type { Rulings } from './rulings.ts';

const TURN_MS = 250;
const FAILURE_TRIES = 3;
const STOP_MS = 2_000;

const DEFAULTS: WorkTimings = {
  ...DEFAULT_TIMINGS,
  aliveMs: 5_000,
  leaseMs: 15_000,
  claimMs: 2_000,
  claimGiveUpMs: 120_000,
  redirectMs: 3_000,
};

/** What {@link ClaimingConsumer} is built from. */
export interface WorkParts {
  readonly connection: KafkaConnection;
  readonly admin: TopicAdmin;
  readonly producer: EventProducer;
  readonly sender: BatchingProducer;
  readonly rulings: Rulings;
  readonly partitions: number;
}

/**
 * {@link KafkaPort.consumeWork}. Custody of work is not Kafka's: a request's offset is committed once the claim on it is
 * stored, and whether the claim holds is the group's ruling. A rebalance therefore stops nothing that is held, and a request
 * read twice is claimed twice and granted once.
 */
export class ClaimingConsumer<T extends WorkTopic> implements WorkConsumer {
  readonly #parts: WorkParts;
  readonly #options: WorkOptions<T>;
  readonly #timings: WorkTimings;
  readonly #logger: KafkaLogger;
  readonly #streams: GroupStreams;
  readonly #heartbeats: Heartbeats;
  readonly #claims = new Map<string, { claim: ActiveClaim; ended: Promise<void> }>();
  readonly #ahead: ReadAhead<T>;
  #turns: NodeJS.Timeout | undefined;
  #draining = false;
  #stopped: Promise<void> | undefined;

  constructor(parts: WorkParts, options: WorkOptions<T>) {
    this.#parts = parts;
    this.#options = options;
    this.#timings = { ...DEFAULTS, ...options.timings };
    this.#logger = parts.connection.logger ?? silentLogger;
    retryDelays(options.topic, options.group);
    const router = new FailureRouter(parts.connection, parts.sender, options.group);
    this.#ahead = new ReadAhead(parts.connection, router, options, () => this.#turn());
    this.#streams = new GroupStreams(parts.connection, parts.admin, {
      group: options.group,
      topics: [topicOf(parts.connection.prefix, options.topic)],
      from: 'earliest',
      bufferRecords: READ_AHEAD,
      timings: this.#timings,
      consume: (assigned) => this.#ahead.read(assigned),
    });
    this.#heartbeats = new Heartbeats(parts.producer, () => this.#activeClaims(), {
      workerId: options.workerId,
      partitions: parts.partitions,
      aliveMs: this.#timings.aliveMs,
      leaseMs: this.#timings.leaseMs,
      logger: this.#logger,
    });
  }

  async start(): Promise<void> {
    // Rulings first: an answer to the first claim must not be missed.
    await this.#parts.rulings.start();
    await this.#streams.start();
    this.#heartbeats.start();
    this.#turns = setInterval(() => this.#turn(), TURN_MS);
  }

  async drain(deadlineMs: number): Promise<void> {
    this.#stopClaiming();
    const held = (): Promise<void>[] => [...this.#claims.values()].map(({ ended }) => ended);
    await within(deadlineMs, Promise.all(held()));
    const rest = [...this.#claims.values()];
    for (const { claim } of rest) claim.stop(new ReleasedError(claim.workId, 'DRAINING'));
    await within(STOP_MS, Promise.all(held()));
    // Handlers that do not heed their signal: the group is told all the same, and renews nothing more for them.
    for (const { claim } of this.#claims.values()) {
      claim.end();
      await claim.sayReleased('DRAINING').catch((error: unknown) => {
        this.#logger.warn({ workId: claim.workId, error: reasonOf(error) }, 'release not stored');
      });
    }
  }

  stop(): Promise<void> {
    this.#stopped ??= (async () => {
      await this.drain(0);
      clearInterval(this.#turns);
      this.#heartbeats.stop();
      await this.#streams.stop(STOP_MS);
    })();
    return this.#stopped;
  }

  slotsFree(): number {
    return this.#draining ? 0 : Math.max(0, this.#options.slots - this.#claims.size);
  }

  held(): readonly HeldClaim[] {
    return this.#activeClaims().map(({ workId, groupId, claimId, epoch, state }) => ({
      workId,
      groupId,
      claimId,
      epoch,
      state: state === 'granted' ? 'granted' : 'claiming',
    }));
  }

  healthy(): boolean {
    return this.#streams.healthy() && this.#parts.rulings.healthy();
  }

  #activeClaims(): ActiveClaim[] {
    return [...this.#claims.values()].map(({ claim }) => claim).filter(({ state }) => state !== 'ended');
  }

  #stopClaiming(): void {
    this.#draining = true;
    this.#ahead.close();
    for (const { stream } of this.#streams.partitions()) stream.pause();
  }

  /** Starts claims while slots are free; hands on what has waited too long without one. */
  #turn(): void {
    this.#ahead.prune();
    // Waiting for a slot is no stall, however long the work takes.
    if (this.slotsFree() === 0) for (const assigned of this.#streams.partitions()) assigned.movedAt = Date.now();
    while (this.slotsFree() > 0) {
      const next = takeNext(this.#ahead.waiting);
      if (next === undefined) return;
      this.#begin(next);
    }
    if (this.#draining) return;
    const own = new Set(this.#streams.partitions().map(({ partition }) => partition));
    for (const entry of this.#ahead.waiting)
      if (redirectDue(entry, this.#timings.redirectMs, own.size, this.#parts.partitions)) this.#redirect(entry, own);
  }

  #redirect(entry: WaitingRequest<T>, own: ReadonlySet<number>): void {
    entry.redirecting = true;
    redirect(this.#parts.sender, entry, own, this.#parts.partitions).then(
      () => {
        entry.done();
        this.#ahead.waiting = this.#ahead.waiting.filter((other) => other !== entry);
      },
      (error: unknown) => {
        entry.redirecting = false;
        this.#logger.warn({ offset: entry.record.offset, error: reasonOf(error) }, 'request not handed on');
      },
    );
  }

  #begin(entry: WaitingRequest<T>): void {
    const subject = subjectOf(entry, this.#options.workerId, this.#options.work);
    if (this.#claims.has(subject.claimId)) {
      // Read again after a rebalance while the claim on it is still under way.
      entry.done();
      return;
    }
    const claim = new ActiveClaim(subject, this.#parts.producer);
    const unlisten = this.#parts.rulings.listen(claim.workId, (ruling) => claim.hear(ruling));
    const ended = this.#hold(entry, claim)
      .catch((error: unknown) => {
        this.#logger.error({ workId: claim.workId, error: reasonOf(error) }, 'claim ended badly');
      })
      .finally(() => {
        claim.end();
        unlisten();
        this.#claims.delete(claim.claimId);
        this.#turn();
      });
    this.#claims.set(claim.claimId, { claim, ended });
  }

  async #hold(entry: WaitingRequest<T>, claim: ActiveClaim): Promise<void> {
    if (!(await this.#obtain(entry, claim))) return;
    const { request } = entry;
    try {
      await this.#options.handler(request, claim);
    } catch (error) {
      const reason = claim.stopReason;
      // Stopped from outside: the handler's error is that stop, not a failure of the work.
      if (reason === undefined || reason instanceof CancelledError) await this.#fail(request, claim, error);
    }
    const reason = claim.stopReason;
    if (reason instanceof ReleasedError && reason.reason === 'DRAINING') await claim.sayReleased('DRAINING');
  }

  /** Claims until there is a ruling; true when granted. */
  async #obtain(entry: WaitingRequest<T>, claim: ActiveClaim): Promise<boolean> {
    const begun = Date.now();
    let stored = false;
    for (let wait = this.#timings.claimMs; ; wait = Math.min(wait * 2, this.#timings.claimMs * 5)) {
      try {
        await claim.claim();
        if (!stored) {
          stored = true;
          entry.done();
          // At once: a crash before the next timed commit would only repeat the claim, but also the answer to it.
          void this.#streams.commit();
        }
      } catch (error) {
        this.#logger.warn({ workId: claim.workId, error: reasonOf(error) }, 'claim not stored');
        if (!stored && entry.assigned.signal.aborted) return false;
      }
      const answer = await claim.answer(stored ? wait : 500);
      if (answer === 'granted') return true;
      if (answer === 'denied') return false;
      if (answer === 'gone' || claim.stopReason !== undefined) {
        if (stored) await claim.sayReleased('DRAINING');
        return false;
      }
      const now = Date.now();
      if (stored && (now - begun > this.#timings.claimGiveUpMs || now > entry.request.deadline_at)) {
        this.#logger.warn({ workId: claim.workId, claimId: claim.claimId }, 'no ruling on a claim, given up');
        await claim.sayReleased('NO_RULING');
        return false;
      }
    }
  }

  async #fail(request: WaitingRequest<T>['request'], claim: ActiveClaim, error: unknown): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#options.onFailure(request, claim, error);
        return;
      } catch (failure) {
        this.#logger.error(
          { workId: claim.workId, attempt, error: reasonOf(failure), cause: reasonOf(error) },
          'failure event not produced',
        );
        if (claim.stopReason instanceof LeaseLostError) return;
        if (attempt >= FAILURE_TRIES) {
          await claim.release('FAILED');
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, 500 * attempt));
      }
    }
  }
}
