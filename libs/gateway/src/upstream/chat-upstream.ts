import { setTimeout as sleep } from 'node:timers/promises';
import { UpstreamError } from '../errors.ts';
import type { GatewayObserver, PolicyState } from '../ports.ts';
import { captureAnswer, type CapturedAnswer } from './captured-answer.ts';
import { postJson, type HttpAnswer } from './post-json.ts';
import { UpstreamPool } from './upstream-pool.ts';

/** How upstream failures are absorbed. */
export interface RetryPolicy {
  /** Most tries of one call. */
  readonly attempts: number;
  /** Most tries that end in `LLM_TIMEOUT`: each costs a whole deadline. */
  readonly timeouts: number;
  /** First wait, milliseconds; doubled with every try. */
  readonly baseMs: number;
  /** Longest wait, milliseconds, also of a server's `retry-after`. */
  readonly capMs: number;
}

export const DEFAULT_RETRIES: RetryPolicy = { attempts: 6, timeouts: 2, baseMs: 500, capMs: 8_000 };

/** Options of {@link ChatUpstream}. */
export interface ChatUpstreamOptions {
  readonly policyState: PolicyState;
  readonly retries?: RetryPolicy;
  readonly pool?: UpstreamPool;
  /** Headers for the policy servers, e.g. `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly observer?: GatewayObserver;
  /** In [0, 1); for jitter. */
  readonly random?: () => number;
}

/** One question to the policy. */
export interface ChatQuestion {
  readonly runId: string;
  /** Routing key: its calls go to one server. */
  readonly rolloutId: string;
  /** The run's own servers; published ones take their place. */
  readonly endpoints: readonly string[];
  /** The request body. */
  readonly body: string;
  /** Deadline of one try, milliseconds. */
  readonly timeoutMs: number;
  /** Version when none was published and the server does not say. */
  readonly fallbackVersion: number;
  readonly signal: AbortSignal;
}

/** The policy's answer. */
export interface PolicyAnswer extends CapturedAnswer {
  readonly version: number;
  /** Tries it took. */
  readonly attempts: number;
  /** Time of the tries and the waits between them, held time not counted, milliseconds. */
  readonly latencyMs: number;
}

/** An {@link UpstreamError} with what was spent on it. */
export class PolicyUnansweredError extends Error {
  readonly retryable: boolean;
  constructor(
    override readonly cause: UpstreamError,
    readonly attempts: number,
    readonly latencyMs: number,
  ) {
    super(cause.message, { cause });
    this.name = 'PolicyUnansweredError';
    this.retryable = cause.retryable;
  }
  get code(): UpstreamError['code'] {
    return this.cause.code;
  }
}

const CONTEXT =
  /context[ _-]?length|maximum context|prompt is too long|too many (?:input )?tokens|longer than the maximum/i;

function refusal(url: string, { status, body, retryAfterMs }: HttpAnswer): UpstreamError {
  const said = body.slice(0, 300);
  if (status === 400 || status === 413 || status === 422) {
    return CONTEXT.test(body)
      ? new UpstreamError('LLM_CONTEXT', `the prompt is longer than the policy server takes: ${said}`, false)
      : new UpstreamError('LLM_REFUSED', `the policy server refuses the request (${status}): ${said}`, false);
  }
  return new UpstreamError('LLM_UNAVAILABLE', `${url} answered ${status}: ${said}`, true, { retryAfterMs });
}

/**
 * The `chat` adapter: asks an OpenAI-compatible server once per call, not streaming, and absorbs its failures (429, 5xx, cut
 * connections, bad answers) with back-off. While a weight update is pausing the run's policy, calls are held.
 */
export class ChatUpstream {
  readonly #options: ChatUpstreamOptions;
  readonly #pool: UpstreamPool;
  readonly #retries: RetryPolicy;

  constructor(options: ChatUpstreamOptions) {
    this.#options = options;
    this.#pool = options.pool ?? new UpstreamPool();
    this.#retries = options.retries ?? DEFAULT_RETRIES;
  }

  /** Throws {@link PolicyUnansweredError}, or the signal's reason. */
  async ask(question: ChatQuestion): Promise<PolicyAnswer> {
    let latencyMs = 0;
    let timeouts = 0;
    for (let attempt = 1; ; attempt += 1) {
      await this.#options.policyState.ready(question.runId, question.signal);
      const startedAt = performance.now();
      try {
        const answer = await this.#try(question);
        return { ...answer, attempts: attempt, latencyMs: Math.round(latencyMs + performance.now() - startedAt) };
      } catch (error) {
        latencyMs += performance.now() - startedAt;
        if (!(error instanceof UpstreamError)) throw error;
        if (error.code === 'LLM_TIMEOUT') timeouts += 1;
        const spent = attempt >= this.#retries.attempts || timeouts >= this.#retries.timeouts;
        if (!error.retryable || spent) throw new PolicyUnansweredError(error, attempt, Math.round(latencyMs));
        this.#options.observer?.absorbed?.(error.code);
        const wait = this.#waitMs(attempt, error.retryAfterMs);
        latencyMs += wait;
        // The timer rejects with an error of its own; callers know the signal's reason.
        await sleep(wait, undefined, { signal: question.signal }).catch(() => question.signal.throwIfAborted());
      }
    }
  }

  async #try(question: ChatQuestion): Promise<CapturedAnswer & { version: number }> {
    const before = this.#options.policyState.published(question.runId);
    const endpoints = before.endpoints.length > 0 ? before.endpoints : question.endpoints;
    const endpoint = this.#pool.choose(question.rolloutId, endpoints);
    if (endpoint === null) throw new UpstreamError('LLM_UNAVAILABLE', 'the run has no policy server', false);
    const url = `${endpoint.replace(/\/+$/, '')}/chat/completions`;
    try {
      const answer = await postJson(url, question.body, {
        headers: { 'x-espalier-rollout': encodeURIComponent(question.rolloutId), ...this.#options.headers },
        timeoutMs: question.timeoutMs,
        signal: question.signal,
      });
      if (answer.status !== 200) throw refusal(url, answer);
      const captured = captureAnswer(answer.body);
      this.#pool.succeeded(endpoint);
      // A call that spans a weight update counts as the older version.
      return { ...captured, version: captured.policyVersion ?? before.version ?? question.fallbackVersion };
    } catch (error) {
      if (error instanceof UpstreamError && error.retryable) this.#pool.failed(endpoint);
      throw error;
    }
  }

  #waitMs(attempt: number, retryAfterMs: number | null): number {
    const { baseMs, capMs } = this.#retries;
    if (retryAfterMs !== null) return Math.min(retryAfterMs, capMs);
    const full = Math.min(capMs, baseMs * 2 ** (attempt - 1));
    // Half fixed, half random: calls that failed together must not come back together.
    return full / 2 + ((this.#options.random ?? Math.random)() * full) / 2;
  }
}
