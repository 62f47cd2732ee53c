import { encodeCheckpoint, type Checkpoint } from '../checkpoints/checkpoint.ts';
import { LearnerUnavailableError } from './errors.ts';

/** Where new weights go. */
export interface PolicyServer {
  /** Serves the checkpoint from now on. Throws `LEARNER_UPSTREAM_UNAVAILABLE` (retryable). */
  load(checkpoint: Checkpoint): Promise<void>;
}

/** A policy server in another process, told over HTTP. */
export class RemotePolicyServer implements PolicyServer {
  readonly #baseUrl: string;
  readonly #adminKey: string | null;

  constructor(baseUrl: string, adminKey: string | null) {
    this.#baseUrl = baseUrl;
    this.#adminKey = adminKey;
  }

  async load(checkpoint: Checkpoint): Promise<void> {
    let response: Response;
    try {
      response = await fetch(`${this.#baseUrl}/admin/load`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(this.#adminKey === null ? {} : { authorization: `Bearer ${this.#adminKey}` }),
        },
        body: encodeCheckpoint(checkpoint),
        signal: AbortSignal.timeout(30_000),
      });
    } catch (error) {
      throw new LearnerUnavailableError(`policy server ${this.#baseUrl}: ${String(error)}`);
    }
    if (!response.ok)
      throw new LearnerUnavailableError(`policy server ${this.#baseUrl}: ${response.status} ${await response.text()}`);
    await response.body?.cancel();
  }
}
