import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { AnswerWriter, GatewayCall } from '@espalier/gateway';
import {
  ModelStreamStaleError,
  type AgentAccess,
  type ModelAnswer,
  type ModelCall,
  type ModelStream,
  type ModelStreamOptions,
} from '@espalier/sandbox-client';

/** Opens one model stream; `openModelStream` of the sandbox client. */
export type OpenStream = (access: AgentAccess, options: ModelStreamOptions) => Promise<ModelStream>;

/** What a {@link ModelLink} connects. */
export interface ModelLinkOptions {
  readonly access: AgentAccess;
  readonly epoch: number;
  readonly open: OpenStream;
  readonly handle: (call: GatewayCall, to: AnswerWriter) => Promise<void>;
  /** A holder with a higher epoch has taken the sandbox over. */
  readonly onStale: (error: ModelStreamStaleError) => void;
}

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;

/**
 * Keeps the model stream to a sandbox's agent open while a harness runs: dials again whenever it breaks. The agent holds
 * the calls meanwhile and asks for the rest of half-given answers.
 */
export class ModelLink {
  readonly #options: ModelLinkOptions;
  readonly #stop = new AbortController();
  readonly #opened = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;

  /** Resolves when the stream was open for the first time: from then on no holder of a lower epoch answers a call. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  constructor(options: ModelLinkOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { access, epoch, open, onStale } = this.#options;
    const { signal } = this.#stop;
    let wait = FIRST_WAIT_MS;
    while (!signal.aborted) {
      try {
        let over = false;
        const stream = await open(access, {
          epoch,
          signal,
          onCall: (call, answer) => this.#serve(call, answer, () => over),
        });
        wait = FIRST_WAIT_MS;
        this.#opened.resolve();
        await stream.ended;
        over = true;
      } catch (error) {
        if (error instanceof ModelStreamStaleError) {
          onStale(error);
          return;
        }
      }
      await sleep(wait, undefined, { signal }).catch(() => undefined);
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    }
  }

  #serve(call: ModelCall, answer: ModelAnswer, streamOver: () => boolean): Promise<void> {
    const abandoned = new AbortController();
    call.signal.addEventListener(
      'abort',
      () => {
        // A stream that broke aborts its calls before it ends: only then is the harness still waiting.
        void setImmediate().then(() => {
          if (!streamOver()) abandoned.abort(call.signal.reason);
        });
      },
      { once: true },
    );
    return this.#options.handle({ ...call, abandoned: abandoned.signal }, answer);
  }
}
