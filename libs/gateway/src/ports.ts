import type { ModelCalled, ObjectRef } from '@espalier/contracts';

/** One model request of a harness. A `ModelCall` of the sandbox client fits. */
export interface GatewayCall {
  /** The agent's idempotency key; equal keys are the same call. */
  readonly key: string;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Body bytes of the answer that the harness already has. */
  readonly delivered: number;
  /** Aborts when nobody listens to this answer any more: the harness went away, or the stream to its agent broke. */
  readonly signal: AbortSignal;
  /** Aborts when the harness itself gave the call up, so that it may send the same request again as a new call. */
  readonly abandoned?: AbortSignal;
}

/** Writes the answer to one call. A `ModelAnswer` of the sandbox client fits. */
export interface AnswerWriter {
  /** Once, first. */
  head(status: number, headers: Readonly<Record<string, string>>): void;
  data(bytes: Uint8Array): Promise<void>;
  /** Once, last. */
  end(): void;
}

/** One `model.called` as the gateway makes it; `occurred_at` is when the answer was complete. */
export type ModelCallRecord = Omit<ModelCalled, 'event_id' | 'producer'>;

/** Makes a model call durable. */
export interface CallRecorder {
  /** Resolves when the record is acknowledged; only then is the harness answered. Rejects when it could not be stored. */
  record(call: ModelCallRecord): Promise<void>;
}

/** What is published of a run's policy. */
export interface PublishedPolicy {
  /** Newest version that is served; null before the first was published. */
  readonly version: number | null;
  /** Servers that serve it; empty keeps the run's own. */
  readonly endpoints: readonly string[];
  /** A weight update is under way: new calls wait. */
  readonly pausing: boolean;
}

/** What is known of the policies, from `policy.published`. */
export interface PolicyState {
  published(runId: string): PublishedPolicy;
  /** Resolves when the run's policy is not pausing; at once if it is not. Rejects with the signal's reason. */
  ready(runId: string, signal: AbortSignal): Promise<void>;
}

/** Where parts that are too large for an event lie. An `ObjectStore` fits. */
export interface BodyStore {
  put(content: Buffer, options: { readonly prefix: string; readonly mediaType: string }): Promise<ObjectRef>;
  get(ref: ObjectRef): Promise<Buffer>;
}

/** Told of what happens; must be quick and must not throw. */
export interface GatewayObserver {
  /** One call of the harness was answered by the policy, or failed. `code` is null for an answer. */
  called?(call: { readonly code: string | null; readonly latencyMs: number; readonly attempts: number }): void;
  /** An upstream failure was absorbed and is tried again. */
  absorbed?(code: string): void;
  /** A call was answered from its record. */
  replayed?(): void;
}
