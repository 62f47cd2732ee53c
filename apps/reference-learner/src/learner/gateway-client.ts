import { setTimeout as delay } from 'node:timers/promises';
import type { BatchSample } from '@espalier/contracts';
import { z } from 'zod';
import { BadAnswerError, GatewayRefusedError, LearnerUnavailableError, SessionLostError } from './errors.ts';
import { decodeSamples } from './sample-stream.ts';

const sessionSchema = z.looseObject({ learner_epoch: z.int(), next_seq: z.int() });
const batchSchema = z.looseObject({
  batch_id: z.string(),
  seq: z.int(),
  partial: z.boolean().default(false),
  digest: z.string(),
  entries: z.array(z.looseObject({ trajectory_id: z.string() })),
  samples_url: z.string(),
});

/** A learner session as the run granted it. */
export interface Session {
  readonly epoch: number;
  /** First batch it is offered. */
  readonly nextSeq: number;
}

/** A batch on offer. */
export type OfferedBatch = z.infer<typeof batchSchema>;

/** What asking for a batch gave. */
export type NextBatch = { readonly kind: 'batch'; readonly batch: OfferedBatch } | { readonly kind: 'none' | 'ended' };

/** A policy version to publish. */
export interface Publication {
  readonly phase: 'PAUSING' | 'READY';
  readonly version: number;
  readonly afterBatch: number;
  readonly checkpoint: string;
  readonly endpoints: readonly string[];
}

/** How to reach the gateway. */
export interface GatewayClientOptions {
  /** Base URL, no slash at the end. */
  readonly baseUrl: string;
  readonly learnerId: string;
  /** Limit of one request without its long poll, milliseconds. */
  readonly timeoutMs: number;
}

/**
 * The learner's side of the trainer gateway's HTTP API. Throws `LEARNER_UPSTREAM_UNAVAILABLE` (retryable),
 * `STALE_LEARNER`, {@link GatewayRefusedError} with the gateway's code, `LEARNER_BAD_ANSWER`.
 */
export class GatewayClient {
  readonly #options: GatewayClientOptions;
  readonly #stop: AbortSignal;

  constructor(options: GatewayClientOptions, stop: AbortSignal) {
    this.#options = options;
    this.#stop = stop;
  }

  async join(runId: string, checkpoint: string | null): Promise<Session> {
    const body = { learner_id: this.#options.learnerId, ...(checkpoint === null ? {} : { checkpoint }) };
    const answer = sessionSchema.safeParse(await this.#command(`/v1/runs/${runId}/learner`, body));
    if (!answer.success) throw new BadAnswerError(`session of run ${runId}: ${answer.error.message}`);
    return { epoch: answer.data.learner_epoch, nextSeq: answer.data.next_seq };
  }

  /** The batch after `after`; waits up to `waitSeconds` for it. */
  async next(runId: string, epoch: number, after: number, waitSeconds: number): Promise<NextBatch> {
    const path = `/v1/runs/${runId}/batches/next?after=${after}&wait=${waitSeconds}&learner_epoch=${epoch}`;
    const response = await this.#request('GET', path, undefined, waitSeconds * 1_000);
    if (response.status === 204) return { kind: 'none' };
    if (response.status === 410) return { kind: 'ended' };
    const batch = batchSchema.safeParse(await this.#read(response, path));
    if (!batch.success) throw new BadAnswerError(`batch after ${after} of run ${runId}: ${batch.error.message}`);
    return { kind: 'batch', batch: batch.data };
  }

  async samples(batch: OfferedBatch): Promise<BatchSample[]> {
    const response = await this.#request('GET', `${batch.samples_url}?format=avro`, undefined, 60_000);
    if (!response.ok) await this.#read(response, batch.samples_url);
    try {
      return decodeSamples(Buffer.from(await response.arrayBuffer()));
    } catch (error) {
      if (error instanceof TypeError) throw new LearnerUnavailableError(`samples of ${batch.batch_id} broke off`);
      throw error;
    }
  }

  async acknowledge(runId: string, epoch: number, seq: number, checkpoint: string, metrics: object): Promise<void> {
    await this.#command(`/v1/runs/${runId}/batches/${seq}/ack`, { learner_epoch: epoch, checkpoint, metrics });
  }

  async publish(runId: string, epoch: number, publication: Publication): Promise<void> {
    await this.#command(`/v1/runs/${runId}/policy`, {
      learner_epoch: epoch,
      phase: publication.phase,
      version: publication.version,
      after_batch: publication.afterBatch,
      endpoints: publication.endpoints,
      checkpoint: publication.checkpoint,
    });
  }

  /** Posts a command; where the verdict takes longer than the gateway waits, asks for it until it is there. */
  async #command(path: string, body: object): Promise<unknown> {
    const response = await this.#request('POST', path, body);
    const answer = await this.#read(response, path);
    if (response.status !== 202) return answer;
    const pending = z.looseObject({ status_url: z.string() }).safeParse(answer);
    if (!pending.success) throw new BadAnswerError(`${path}: accepted without a status URL`);
    for (;;) {
      await delay(500, undefined, { signal: this.#stop });
      const verdict = await this.#request('GET', pending.data.status_url);
      if (verdict.status !== 404) return this.#verdict(await this.#read(verdict, pending.data.status_url), path);
      await verdict.body?.cancel();
    }
  }

  #verdict(answer: unknown, path: string): unknown {
    const refused = z
      .looseObject({ accepted: z.literal(false), code: z.string().nullish(), message: z.string().default('') })
      .safeParse(answer);
    if (refused.success) throw refusal(refused.data.code ?? 'REFUSED', 409, path, refused.data.message);
    return answer;
  }

  async #request(method: string, path: string, body?: object, extraMs = 0): Promise<Response> {
    const { baseUrl, timeoutMs } = this.#options;
    const limit = AbortSignal.timeout(timeoutMs + extraMs);
    try {
      return await fetch(baseUrl + path, {
        method,
        signal: AbortSignal.any([limit, this.#stop]),
        ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
    } catch (error) {
      this.#stop.throwIfAborted();
      throw new LearnerUnavailableError(`${method} ${baseUrl}${path}: ${describe(error)}`);
    }
  }

  async #read(response: Response, path: string): Promise<unknown> {
    let answer: unknown;
    try {
      answer = await response.json();
    } catch (error) {
      this.#stop.throwIfAborted();
      throw new LearnerUnavailableError(`${path}: ${response.status} without a readable body: ${describe(error)}`);
    }
    if (response.ok) return answer;
    const problem = z.looseObject({ code: z.string(), message: z.string().default('') }).safeParse(answer);
    if (response.status >= 500 || response.status === 429)
      throw new LearnerUnavailableError(`${path}: ${response.status} ${problem.data?.message ?? ''}`);
    // The gateway reads the log; it may not have come to a run that this learner has already heard of.
    if (problem.data?.code === 'RUN_UNKNOWN') throw new LearnerUnavailableError(`${path}: ${problem.data.message}`);
    throw refusal(problem.data?.code ?? 'UNKNOWN', response.status, path, problem.data?.message ?? '');
  }
}

function refusal(code: string, status: number, path: string, message: string): Error {
  if (code === 'STALE_LEARNER') return new SessionLostError(`${path}: ${message}`);
  return new GatewayRefusedError(code, status, path, message);
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
