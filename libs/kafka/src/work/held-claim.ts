import type { RolloutReportedBody, RolloutRuled } from '@espalier/contracts';
import { CancelledError, LeaseLostError, ReleasedError } from '../errors.ts';
import type { EventProducer } from '../port.ts';
import type { Claim, ReportExtra } from '../work-port.ts';

/** What a claim is for. */
export interface ClaimSubject {
  readonly workId: string;
  readonly groupId: string;
  readonly attemptId: string;
  readonly runId: string | null;
  readonly claimId: string;
  readonly workerId: string;
  readonly work: 'ROLLOUT' | 'SCORING';
}

type Answer = 'granted' | 'denied' | 'gone';

/** A claim from the moment it is made until its work has ended. Rulings reach it through {@link hear}. */
export class ActiveClaim implements Claim {
  readonly workId: string;
  readonly groupId: string;
  readonly attemptId: string;
  readonly runId: string | null;
  readonly claimId: string;
  readonly workerId: string;
  epoch = 0;
  modelLogFrom: number | null = null;
  /** Milliseconds UTC of the newest acknowledged alive, or of the grant. */
  renewedAt = 0;
  state: 'claiming' | 'granted' | 'ended' = 'claiming';
  readonly #work: 'ROLLOUT' | 'SCORING';
  readonly #producer: EventProducer;
  readonly #abort = new AbortController();
  #answer: ((answer: Answer) => void) | undefined;
  #answered: Answer | undefined;

  constructor(subject: ClaimSubject, producer: EventProducer) {
    this.workId = subject.workId;
    this.groupId = subject.groupId;
    this.attemptId = subject.attemptId;
    this.runId = subject.runId;
    this.claimId = subject.claimId;
    this.workerId = subject.workerId;
    this.#work = subject.work;
    this.#producer = producer;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Why the work must stop; undefined while it may go on. */
  get stopReason(): CancelledError | LeaseLostError | ReleasedError | undefined {
    return this.#abort.signal.aborted
      ? (this.#abort.signal.reason as CancelledError | LeaseLostError | ReleasedError)
      : undefined;
  }

  /** Sends the claim; equal claims sent again mean the same one. */
  async claim(): Promise<void> {
    await this.#producer.send(
      'rollout.reported',
      this.#report('CLAIMED', { idempotency_key: `claim/${this.claimId}` }),
    );
  }

  /** Waits up to `withinMs` for the ruling on this claim; undefined when none came. */
  answer(withinMs: number): Promise<Answer | undefined> {
    if (this.#answered !== undefined) return Promise.resolve(this.#answered);
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#answer = undefined;
        resolve(undefined);
      }, withinMs);
      this.#answer = (answer) => {
        clearTimeout(timer);
        this.#answer = undefined;
        resolve(answer);
      };
    });
  }

  /** A ruling on this claim's work, perhaps for another claim. */
  hear(ruling: RolloutRuled): void {
    if (this.state === 'ended') return;
    const mine =
      ruling.claim_id === null
        ? ruling.worker_id === null || ruling.worker_id === this.workerId
        : ruling.claim_id === this.claimId;
    switch (ruling.verdict) {
      case 'GRANTED':
        if (ruling.claim_id !== this.claimId || this.state !== 'claiming') return;
        this.epoch = ruling.epoch;
        this.modelLogFrom = ruling.model_log_from;
        this.renewedAt = Date.now();
        this.state = 'granted';
        this.#settle('granted');
        return;
      case 'DENIED':
        // A denial after the grant says that the group no longer holds this worker's word for it.
        if (ruling.claim_id === this.claimId && this.state === 'claiming') this.#settle('denied');
        else if (mine && this.state === 'granted' && ruling.epoch >= this.#deniableEpoch(ruling))
          this.stop(new LeaseLostError(this.workId, ruling.reason ?? 'DENIED'));
        return;
      case 'CANCELLED':
        if (!mine || (this.epoch > 0 && ruling.epoch > 0 && ruling.epoch < this.epoch)) return;
        if (this.state === 'claiming') this.#settle('denied');
        else this.stop(new CancelledError(this.workId, ruling.reason ?? 'CANCELLED'));
        return;
      case 'UNKNOWN':
        return;
    }
  }

  /** Aborts the signal once; later reasons are ignored. */
  stop(reason: CancelledError | LeaseLostError | ReleasedError): void {
    if (this.state === 'ended') return;
    this.#settle('gone');
    if (!this.#abort.signal.aborted) this.#abort.abort(reason);
  }

  /** Ends the claim: it is renewed and listened to no longer. */
  end(): void {
    this.state = 'ended';
    this.#settle('gone');
  }

  async report(phase: string, extra: ReportExtra = {}): Promise<void> {
    await this.#producer.send(
      'rollout.reported',
      this.#report(extra.kind ?? 'PHASE', {
        phase,
        sandbox_id: extra.sandboxId ?? null,
        model_log_from: extra.modelLogFrom ?? null,
      }),
    );
  }

  async release(reason: string): Promise<void> {
    if (this.state === 'ended') return;
    this.stop(new ReleasedError(this.workId, reason));
    await this.sayReleased(reason);
  }

  /** Reports RELEASED without touching the signal. */
  async sayReleased(reason: string): Promise<void> {
    await this.#producer.send(
      'rollout.reported',
      this.#report('RELEASED', { reason, idempotency_key: `release/${this.claimId}/${this.epoch}` }),
    );
  }

  /** A denial of a named claim counts whatever epoch it carries; one of the work counts from this claim's epoch on. */
  #deniableEpoch(ruling: RolloutRuled): number {
    return ruling.claim_id === this.claimId || ruling.epoch === 0 ? ruling.epoch : this.epoch;
  }

  #settle(answer: Answer): void {
    this.#answered ??= answer;
    this.#answer?.(answer);
  }

  #report(kind: RolloutReportedBody['kind'], more: Partial<RolloutReportedBody>): RolloutReportedBody {
    return {
      run_id: this.runId,
      group_id: this.groupId,
      attempt_id: this.attemptId,
      work: this.#work,
      work_id: this.workId,
      kind,
      worker_id: this.workerId,
      claim_id: this.claimId,
      epoch: this.epoch,
      ...more,
    };
  }
}
