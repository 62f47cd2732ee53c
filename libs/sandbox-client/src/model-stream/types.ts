/** One model request of the harness, as the agent hands it over. */
export interface ModelCall {
  /** Number on this sandbox's agent; stable over streams. */
  readonly callNo: number;
  /** The agent's own idempotency key: the same call has the same key on every stream. */
  readonly key: string;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Body bytes of the answer that the harness already has: answer from that byte on. */
  readonly delivered: number;
  /** Aborts when the harness goes away or the stream ends. */
  readonly signal: AbortSignal;
}

/** Writes the answer to one call. Calls after the stream has ended do nothing: the agent asks again on the next. */
export interface ModelAnswer {
  /** Once, first. Headers of hops (`connection`, `content-length`, ...) are ignored by the agent. */
  head(status: number, headers: Readonly<Record<string, string>>): void;
  /** Resolves when the bytes have left this process's buffer. */
  data(bytes: Uint8Array | string): Promise<void>;
  /** Once, last: the call is done and will not be asked again. */
  end(): void;
}

/** How a model stream ended. `stale`: a higher epoch took over. */
export type ModelStreamEnd = 'closed' | 'lost' | 'aborted';

/** An open model stream. */
export interface ModelStream {
  /** Settles once, never rejects. */
  readonly ended: Promise<ModelStreamEnd>;
  close(): void;
}

export interface ModelStreamOptions {
  /** Epoch of the claim: lower ones are refused by the agent. */
  readonly epoch: number;
  /** Handles one call; a rejection is answered with status 502 if nothing has been sent, else breaks the stream. */
  readonly onCall: (call: ModelCall, answer: ModelAnswer) => Promise<void>;
  readonly signal?: AbortSignal;
  /** The stream counts as lost after this long without a byte, milliseconds. Default 20,000. */
  readonly silenceMs?: number;
}
