import type { Failure, ModelCalled, PolicyConfig, RolloutLimits } from '@espalier/contracts';
import type { TrajectoryBuilder } from '@espalier/trajectory';
import { splitAttemptPath, tokenOf, type CapabilityKey } from '../capability/capability-token.ts';
import { CapabilityError, RequestError, SessionClosedError } from '../errors.ts';
import type { AnswerWriter, CallRecorder, GatewayCall, GatewayObserver } from '../ports.ts';
import { PolicyUnansweredError, type ChatUpstream } from '../upstream/chat-upstream.ts';
import { parseChatRequest, type ChatRequest } from '../wire/chat-request.ts';
import { errorBody, wireError } from '../wire/openai-error.ts';
import { AnswerBook, writeBody, writeOutcome, type Outcome } from './answer-book.ts';
import { allowedTokens, budgetError, exhausted, type BudgetStop, type BudgetUse } from './budgets.ts';
import { answerOfRecord, outcomeOf, recordOf, type CallOwner, type CallResult } from './call-record.ts';
import { upstreamBody } from './upstream-body.ts';
import { verdictOf } from './upstream-failure.ts';

/** The rollout that a session serves. */
export interface SessionScope extends CallOwner {
  readonly rolloutId: string;
  readonly policy: PolicyConfig;
  readonly limits: RolloutLimits;
  /** Seed of the rollout; each call gets this plus its number. */
  readonly seed: number;
  /** Policy version when the rollout was requested: used where none was published since. */
  readonly policyVersion: number;
  /** End of the wall budget, milliseconds UTC; null while it has not begun. */
  readonly wallDeadline: number | null;
}

/** What a session works with. */
export interface SessionPorts {
  readonly recorder: CallRecorder;
  readonly upstream: ChatUpstream;
  readonly capabilities: CapabilityKey;
  readonly observer?: GatewayObserver;
  /** Milliseconds UTC. */
  readonly now?: () => number;
  /** Called once, when infrastructure failed under the rollout and it cannot go on. */
  readonly onFatal?: (failure: Failure) => void;
}

/**
 * Serves the model calls of one rollout under one claim: asks the policy, records, then answers. Calls may run at the same
 * time; their records are made one after another.
 */
export class GatewaySession {
  readonly #scope: SessionScope;
  readonly #ports: SessionPorts;
  readonly #builder: TrajectoryBuilder;
  readonly #book = new AnswerBook();
  readonly #closed = new AbortController();
  #wallDeadline: number | null;
  #recording: Promise<unknown> = Promise.resolve();
  #underWay = 0;
  #asked: number;
  #stop: BudgetStop | null = null;
  #failure: Failure | null = null;

  /** `restored`: whole records of the attempt that `builder` was fed with; their calls are answered as they were. */
  constructor(
    scope: SessionScope,
    builder: TrajectoryBuilder,
    ports: SessionPorts,
    restored: readonly ModelCalled[] = [],
  ) {
    this.#scope = scope;
    this.#builder = builder;
    this.#ports = ports;
    this.#wallDeadline = scope.wallDeadline;
    this.#asked = builder.nextCallNo;
    for (const record of restored) {
      if (record.kind !== 'CALL' || record.agent_key === null) continue;
      const outcome = Promise.resolve(outcomeOf(record));
      this.#book.add(record.agent_key, { digest: record.request_digest, outcome });
    }
  }

  /** The budget that refused the last call; null when the harness was served, or recovered (by compaction) since. */
  get stopReason(): BudgetStop | null {
    return this.#stop;
  }

  /** The infrastructure failure that ended the rollout. */
  get failure(): Failure | null {
    return this.#failure;
  }

  /** Starts the wall budget. */
  startClock(wallDeadline: number): void {
    this.#wallDeadline = wallDeadline;
  }

  /** Refuses later calls, cancels those under way, and waits until what was answered is recorded. */
  async close(): Promise<void> {
    this.#closed.abort(new SessionClosedError());
    await this.#recording.catch(() => undefined);
  }

  /** Serves one call. Resolves when it is answered; rejects only when writing fails. */
  async handle(call: GatewayCall, to: AnswerWriter): Promise<void> {
    try {
      await this.#serve(call, to);
    } catch (error) {
      const refusal = refusalOf(error);
      if (!refusal) throw error;
      await writeBody(refusal.status, 'application/json', errorBody(refusal), call.delivered, to);
    }
  }

  async #serve(call: GatewayCall, to: AnswerWriter): Promise<void> {
    const { attemptId, route } = splitAttemptPath(call.path);
    this.#authorise(call, attemptId);
    if (route === '/v1/models' || route === '/v1/chat/completions') {
      const method = route === '/v1/models' ? 'GET' : 'POST';
      if (call.method !== method) throw new RequestError(405, 'method_not_allowed', `${route} takes ${method}`);
    }
    switch (route) {
      case '/v1/models':
        return writeBody(200, 'application/json', this.#models(), call.delivered, to);
      case '/v1/chat/completions':
        return this.#complete(call, to);
      default:
        throw new RequestError(404, 'unknown_url', `there is no ${call.method} ${route} here`);
    }
  }

  #authorise(call: GatewayCall, attemptId: string | null): void {
    const token = tokenOf(call.headers);
    if (token === null) throw new CapabilityError('CAPABILITY_MISSING', 'no API key was sent');
    const capability = this.#ports.capabilities.verify(token, this.#now());
    const own = this.#scope.attemptId;
    if (capability.role !== 'policy' || capability.attemptId !== own || (attemptId !== null && attemptId !== own)) {
      throw new CapabilityError('CAPABILITY_SCOPE', 'the API key is for another attempt');
    }
  }

  #models(): Buffer {
    const model = { id: this.#scope.policy.model, object: 'model', created: 0, owned_by: 'espalier' };
    return Buffer.from(JSON.stringify({ object: 'list', data: [model] }));
  }

  async #complete(call: GatewayCall, to: AnswerWriter): Promise<void> {
    const request = parseChatRequest(call.body);
    const known = this.#book.find(call.key);
    if (known && known.digest !== request.digest) {
      throw new RequestError(409, 'idempotency_key_reused', 'another request was sent under this idempotency key');
    }
    if (!known && this.#closed.signal.aborted) throw new SessionClosedError();
    const booked = known ?? this.#book.inherit(call.key, request.digest);
    if (booked) this.#ports.observer?.replayed?.();
    const { outcome } =
      booked ?? this.#book.add(call.key, { digest: request.digest, outcome: this.#produce(call.key, request) });
    call.abandoned?.addEventListener('abort', () => this.#book.abandon(call.key), { once: true });
    await writeOutcome(await outcome, call.delivered, to);
  }

  async #produce(key: string, request: ChatRequest): Promise<Outcome> {
    if (this.#failure) return { kind: 'error', error: wireError(502, 'rollout_failed', this.#failure.message) };
    const use = this.#use(request);
    const stop = exhausted(this.#scope.limits, this.#wallDeadline, use);
    if (stop) {
      this.#stop = stop;
      return { kind: 'error', error: budgetError(stop, this.#scope.limits) };
    }
    const callNo = this.#asked;
    this.#asked += 1;
    this.#underWay += 1;
    try {
      const { policy, limits, seed } = this.#scope;
      const maxTokens = allowedTokens(limits, policy.max_tokens, request.maxTokens, use);
      const { body, samplingJson } = upstreamBody(request, policy, { seed: seed + callNo, maxTokens });
      const result = await this.#ask(body);
      return await this.#record(key, request, samplingJson, result);
    } finally {
      this.#underWay -= 1;
    }
  }

  async #ask(body: string): Promise<CallResult> {
    const { runId, rolloutId, policy, limits, policyVersion } = this.#scope;
    try {
      const answer = await this.#ports.upstream.ask({
        runId,
        rolloutId,
        body,
        endpoints: policy.endpoints,
        timeoutMs: policy.timeout_ms,
        fallbackVersion: policyVersion,
        signal: this.#closed.signal,
      });
      this.#ports.observer?.called?.({ code: null, latencyMs: answer.latencyMs, attempts: answer.attempts });
      this.#stop = null;
      return { kind: 'answered', answer };
    } catch (error) {
      if (!(error instanceof PolicyUnansweredError)) throw error;
      const { attempts, latencyMs } = error;
      this.#ports.observer?.called?.({ code: error.code, latencyMs, attempts });
      const { failure, error: answer, fatal } = verdictOf(error, limits.context_tokens);
      if (error.code === 'LLM_CONTEXT') this.#stop = 'CONTEXT';
      if (fatal) this.#fail(failure);
      return { kind: 'failed', failure, error: answer, attempts, latencyMs };
    }
  }

  /** Records one at a time: a record is relative to those before it. */
  #record(key: string, request: ChatRequest, samplingJson: string, result: CallResult): Promise<Outcome> {
    const turn = this.#recording.catch(() => undefined).then(() => this.#recordNow(key, request, samplingJson, result));
    this.#recording = turn;
    return turn;
  }

  async #recordNow(key: string, request: ChatRequest, samplingJson: string, result: CallResult): Promise<Outcome> {
    try {
      const input = {
        owner: this.#scope,
        callNo: this.#builder.nextCallNo,
        key,
        request,
        model: request.model === '' ? this.#scope.policy.model : request.model,
        samplingJson,
        delta: this.#builder.delta(request, result.kind === 'answered' ? result.answer.promptIds : null),
        result,
        occurredAt: this.#now(),
      };
      const record = recordOf(input);
      await this.#ports.recorder.record(record);
      this.#builder.apply(record);
      if (result.kind === 'failed') return { kind: 'error', error: result.error };
      return { kind: 'answer', answer: answerOfRecord(input, result.answer), streamed: request.stream };
    } catch (error) {
      // Unrecorded, the answer must not reach the harness: what it does next could not be explained by the log.
      const message = `a model call could not be recorded: ${error instanceof Error ? error.message : String(error)}`;
      this.#fail({ class: 'INFRA', code: 'GATEWAY_RECORD', message, stage: 'model', retryable: true });
      return { kind: 'error', error: wireError(502, 'gateway_record', 'the call could not be recorded') };
    }
  }

  #fail(failure: Failure): void {
    if (this.#failure) return;
    this.#failure = failure;
    this.#ports.onFatal?.(failure);
  }

  #use(request: ChatRequest): BudgetUse {
    return {
      modelCalls: this.#builder.callCount + this.#underWay,
      sampledTokens: this.#builder.sampledTokens,
      knownTokens: this.#builder.knownTokens(request.messages),
      now: this.#now(),
    };
  }

  #now(): number {
    return (this.#ports.now ?? Date.now)();
  }
}

function refusalOf(error: unknown): ReturnType<typeof wireError> | null {
  if (error instanceof RequestError) return wireError(error.status, error.code, error.message);
  if (error instanceof CapabilityError) {
    return wireError(error.code === 'CAPABILITY_SCOPE' ? 403 : 401, error.code.toLowerCase(), error.message);
  }
  if (error instanceof SessionClosedError) return wireError(409, 'rollout_ended', error.message);
  return null;
}
