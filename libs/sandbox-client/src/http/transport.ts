import { Agent, request, type IncomingMessage } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { SandboxManagerUnavailableError } from '../errors.ts';

/** One HTTP exchange. */
export interface HttpCall {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | undefined;
  /** Streamed body: such a call is never retried. */
  readonly stream?: Readable | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Silence limit, milliseconds. */
  readonly timeoutMs: number;
  /** Whether sending it again is harmless. */
  readonly retry: boolean;
}

/** A whole answer. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: Buffer;
}

export interface TransportOptions {
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  /** How long a call is retried while the manager cannot be reached, milliseconds. */
  readonly retryWindowMs: number;
}

const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 1_000;

/** Keep-alive HTTP to the manager, with retries of what may be retried. */
export class HttpTransport {
  readonly #base: URL;
  readonly #options: TransportOptions;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 256, scheduling: 'lifo' });

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#base = new URL(options.baseUrl);
  }

  /** The open response, whatever its status. Throws {@link SandboxManagerUnavailableError}. */
  open(call: HttpCall): Promise<IncomingMessage> {
    return this.#attempt(call, (response) => Promise.resolve(response));
  }

  /** The whole response; one that breaks off is asked for again. Throws {@link SandboxManagerUnavailableError}. */
  exchange(call: HttpCall): Promise<HttpAnswer> {
    return this.#attempt(call, async (response) => ({
      status: response.statusCode ?? 0,
      body: await this.read(response),
    }));
  }

  async #attempt<T>(call: HttpCall, take: (response: IncomingMessage) => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.#options.retryWindowMs;
    for (let backoff = FIRST_BACKOFF_MS; ; backoff = Math.min(backoff * 2, MAX_BACKOFF_MS)) {
      call.signal?.throwIfAborted();
      try {
        const response = await this.#once(call);
        // The manager says so when it is starting or overloaded: the one status that asks to come again.
        if (response.statusCode !== 503 || !call.retry || performance.now() > deadline) return await take(response);
        response.resume();
      } catch (cause) {
        call.signal?.throwIfAborted();
        if (!call.retry || performance.now() > deadline)
          throw new SandboxManagerUnavailableError(
            `${call.method} ${this.#base.origin}${call.path}: ${cause instanceof Error ? cause.message : String(cause)}`,
            { cause },
          );
      }
      await delay(backoff * (0.5 + Math.random()), undefined, call.signal ? { signal: call.signal } : {});
    }
  }

  /** Reads a response whole; a body that breaks off counts as unavailability. */
  async read(response: IncomingMessage): Promise<Buffer> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of response) chunks.push(chunk as Buffer);
    } catch (cause) {
      throw new SandboxManagerUnavailableError(`${this.#base.origin}: the answer broke off`, { cause });
    }
    return Buffer.concat(chunks);
  }

  close(): void {
    this.#agent.destroy();
  }

  #once(call: HttpCall): Promise<IncomingMessage> {
    const secure = this.#base.protocol === 'https:';
    return new Promise((resolve, reject) => {
      const outgoing = (secure ? secureRequest : request)(new URL(call.path, this.#base), {
        method: call.method,
        ...(secure ? {} : { agent: this.#agent }),
        ...(call.signal ? { signal: call.signal } : {}),
        timeout: call.timeoutMs,
        headers: {
          ...(this.#options.apiKey ? { 'x-api-key': this.#options.apiKey } : {}),
          ...(call.body ? { 'content-length': String(call.body.length) } : {}),
          ...call.headers,
        },
      });
      outgoing.once('timeout', () => outgoing.destroy(new Error(`no answer within ${call.timeoutMs} ms`)));
      outgoing.once('response', resolve);
      outgoing.on('error', reject);
      if (call.stream) pipeline(call.stream, outgoing).catch(reject);
      else outgoing.end(call.body);
    });
  }
}
