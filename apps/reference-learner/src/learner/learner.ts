import { setTimeout as delay } from 'node:timers/promises';
import type { BatchSample } from '@espalier/contracts';
import { checkpointOf, untrained, type Checkpoint } from '../checkpoints/checkpoint.ts';
import type { CheckpointStore } from '../checkpoints/checkpoint-store.ts';
import type { LogitTable } from '../policy-model/logit-table.ts';
import { shuffled, type Control } from '../training/controls.ts';
import { update, type GradientOptions, type UpdateMetrics } from '../training/policy-gradient.ts';
import { GatewayRefusedError, LearnerUnavailableError } from './errors.ts';
import type { GatewayClient, OfferedBatch, Publication, Session } from './gateway-client.ts';
import type { PolicyServer } from './policy-server-client.ts';

/** Structured log lines. */
export interface LearnerLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** What a learner needs. */
export interface LearnerParts {
  readonly gateway: GatewayClient;
  readonly checkpoints: CheckpointStore;
  readonly policy: PolicyServer;
  readonly gradient: GradientOptions;
  readonly control: Control;
  readonly log: LearnerLog;
  readonly stop: AbortSignal;
  /** Long poll, seconds. */
  readonly waitSeconds: number;
  /** Batches between two versions. */
  readonly batchesPerVersion: (runId: string) => number;
  /** Sampling temperature of the run, which its log-probs belong to. */
  readonly temperature: (runId: string) => number;
  /** Told after each batch that was trained and acknowledged. */
  readonly onTrained?: (runId: string, checkpoint: Checkpoint, metrics: UpdateMetrics) => void;
}

/** Most versions tried when the run already knows higher ones than the checkpoint. */
const MAX_VERSION_STEPS = 10_000;
const BACKOFF_MS = { first: 250, most: 5_000 };

/**
 * Trains a run from the batches it pulls until the run ends. Every step may be the last: a batch is trained into a new
 * checkpoint, which is durable before the batch is acknowledged, which happens before the version is published; a
 * restart finds out where it stood and never trains a batch twice into one lineage of checkpoints.
 */
export class Learner {
  readonly #parts: LearnerParts;

  constructor(parts: LearnerParts) {
    this.#parts = parts;
  }

  /** Resolves when the run has ended. Throws `STALE_LEARNER` when another learner took over, or a refusal. */
  async serve(runId: string): Promise<void> {
    const { gateway, waitSeconds, log } = this.#parts;
    const { session, checkpoint: start } = await this.#open(runId);
    let current = start;
    let after = session.nextSeq - 1;
    log.info({ run: runId, epoch: session.epoch, checkpoint: current.name, nextSeq: session.nextSeq }, 'session open');
    // A process that died between acknowledging and publishing left the gateways holding calls.
    current = await this.#publish(runId, session, current);
    for (;;) {
      const next = await this.#insist(() => gateway.next(runId, session.epoch, after, waitSeconds));
      switch (next.kind) {
        case 'ended':
          return;
        case 'none':
          continue;
        case 'batch':
          current = await this.#take(runId, session, current, next.batch);
          after = next.batch.seq;
      }
    }
  }

  /**
   * Opens a session at the newest checkpoint that the run knows. A newer one on disk, saved but not acknowledged before
   * a crash, is kept: its batch comes again and is acknowledged without training.
   */
  async #open(runId: string): Promise<{ session: Session; checkpoint: Checkpoint }> {
    const { gateway, checkpoints, log } = this.#parts;
    const usable = await checkpoints.usable(runId, (name, error) =>
      log.warn({ run: runId, name, error }, 'corrupt checkpoint'),
    );
    const newest = usable[0];
    for (const known of [...usable, null]) {
      try {
        const session = await this.#insist(() =>
          gateway.join(runId, known === null || known.seq === 0 ? null : known.name),
        );
        const base = known ?? untrained(runId);
        return { session, checkpoint: newest && descends(newest, base, session) ? newest : base };
      } catch (error) {
        if (!(error instanceof GatewayRefusedError && error.code === 'CHECKPOINT_UNKNOWN')) throw error;
        log.warn({ run: runId, checkpoint: known?.name }, 'the run does not know this checkpoint; trying an older one');
      }
    }
    throw new GatewayRefusedError('CHECKPOINT_UNKNOWN', 404, runId, 'not even a start from nothing is accepted');
  }

  async #take(runId: string, session: Session, current: Checkpoint, batch: OfferedBatch): Promise<Checkpoint> {
    const { gateway, checkpoints, onTrained, log } = this.#parts;
    const contained = current.batches.get(batch.seq);
    if (contained !== undefined) {
      if (contained !== batch.digest)
        throw new GatewayRefusedError('BATCH_DIFFERS', 409, batch.batch_id, 'offered again with another digest');
      await this.#insist(() => gateway.acknowledge(runId, session.epoch, batch.seq, current.name, { repeated: true }));
      log.info({ run: runId, seq: batch.seq, checkpoint: current.name }, 'batch was trained before the restart');
      return current;
    }
    const samples = await this.#insist(() => gateway.samples(batch));
    const table = current.table.copy();
    const metrics = this.#train(runId, table, batch, samples);
    const publishes = batch.partial || batch.seq % this.#parts.batchesPerVersion(runId) === 0;
    const trained = checkpointOf({
      runId,
      seq: batch.seq,
      version: publishes ? current.version + 1 : current.version,
      batches: new Map([...current.batches, [batch.seq, batch.digest]]),
      parent: current.name,
      table,
    });
    await checkpoints.save(trained);
    await this.#insist(() => gateway.acknowledge(runId, session.epoch, batch.seq, trained.name, metrics));
    onTrained?.(runId, trained, metrics);
    log.info({ run: runId, seq: batch.seq, checkpoint: trained.name, ...metrics }, 'batch trained');
    return publishes ? this.#publish(runId, session, trained) : trained;
  }

  #train(runId: string, table: LogitTable, batch: OfferedBatch, samples: readonly BatchSample[]): UpdateMetrics {
    const { control, gradient, temperature } = this.#parts;
    const options = { ...gradient, temperature: temperature(runId) };
    switch (control) {
      case 'none':
        return update(table, samples, options);
      case 'shuffled':
        return update(table, shuffled(samples, batch.digest), options);
      case 'off':
        return update(table.copy(), samples, options);
    }
  }

  /**
   * Serves a checkpoint and says so. After a rewind the run knows versions above the checkpoint's: then the checkpoint
   * is served under the next free one.
   */
  async #publish(runId: string, session: Session, checkpoint: Checkpoint): Promise<Checkpoint> {
    const { gateway, policy, checkpoints } = this.#parts;
    let served = checkpoint;
    const say = (phase: Publication['phase']): Promise<void> =>
      this.#insist(() =>
        gateway.publish(runId, session.epoch, {
          phase,
          version: served.version,
          afterBatch: served.seq,
          checkpoint: served.name,
          endpoints: [],
        }),
      );
    if (served.version === 0) {
      await this.#insist(() => policy.load(served));
      return served;
    }
    for (let step = 0; ; step++) {
      try {
        await say('PAUSING');
        break;
      } catch (error) {
        const taken =
          error instanceof GatewayRefusedError &&
          (error.code === 'VERSION_NOT_NEW' || error.code === 'VERSION_DIFFERS');
        if (!taken || step >= MAX_VERSION_STEPS) throw error;
        served = checkpointOf({ ...served, version: served.version + 1 });
      }
    }
    if (served !== checkpoint) {
      await checkpoints.save(served);
      // Makes the name known to the run, so that a session can be opened at it.
      await this.#insist(() => gateway.acknowledge(runId, session.epoch, served.seq, served.name, { renamed: true }));
    }
    await this.#insist(() => policy.load(served));
    await say('READY');
    return served;
  }

  /** Repeats what failed for want of the other side, with growing pauses, until it succeeds or the learner stops. */
  async #insist<T>(attempt: () => Promise<T>): Promise<T> {
    for (let pause = BACKOFF_MS.first; ; pause = Math.min(BACKOFF_MS.most, pause * 2)) {
      this.#parts.stop.throwIfAborted();
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof LearnerUnavailableError)) throw error;
        this.#parts.log.warn({ error: error.message }, 'trying again');
        await delay(pause, undefined, { signal: this.#parts.stop });
      }
    }
  }
}

/** Whether a checkpoint holds what `base` holds and goes on from the batch that the session begins with. */
const descends = (checkpoint: Checkpoint, base: Checkpoint, session: Session): boolean =>
  checkpoint.name !== base.name &&
  checkpoint.seq >= session.nextSeq &&
  [...base.batches].every(([seq, digest]) => checkpoint.batches.get(seq) === digest);
