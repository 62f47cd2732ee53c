import { callIdFor, type Failure, type ModelCalled } from '@espalier/contracts';
import type { CallDelta } from '@espalier/trajectory';
import type { ModelCallRecord } from '../ports.ts';
import type { PolicyAnswer } from '../upstream/chat-upstream.ts';
import { completionId, type ChatAnswer } from '../wire/chat-answer.ts';
import type { ChatRequest } from '../wire/chat-request.ts';
import { wireError, type WireError } from '../wire/openai-error.ts';
import type { Outcome } from './answer-book.ts';

/** Whose call it is. */
export interface CallOwner {
  readonly runId: string;
  readonly groupId: string;
  readonly attemptId: string;
  readonly epoch: number;
}

/** What the policy did with a call. */
export type CallResult =
  | { readonly kind: 'answered'; readonly answer: PolicyAnswer }
  | {
      readonly kind: 'failed';
      readonly failure: Failure;
      readonly error: WireError;
      readonly attempts: number;
      readonly latencyMs: number;
    };

/** One record of `model.called`. */
export interface RecordInput {
  readonly owner: CallOwner;
  readonly callNo: number;
  readonly key: string;
  readonly request: ChatRequest;
  readonly model: string;
  readonly samplingJson: string;
  readonly delta: CallDelta;
  readonly result: CallResult;
  /** Milliseconds UTC. */
  readonly occurredAt: number;
}

/** The answer as it is recorded, and as it is given to the harness. */
export function answerOfRecord(input: RecordInput, answer: PolicyAnswer): ChatAnswer {
  return {
    id: completionId(callIdFor(input.owner.attemptId, input.callNo)),
    created: Math.floor(input.occurredAt / 1000),
    model: input.model,
    message: answer.message,
    finish_reason: answer.finishReason,
    prompt_tokens: answer.promptIds.length,
    completion_tokens: answer.outputIds.length,
    include_usage: input.request.includeUsage,
  };
}

/** Makes the record of a call. */
export function recordOf(input: RecordInput): ModelCallRecord {
  const { owner, callNo, request, result } = input;
  const { drift: _found, ...delta } = input.delta;
  const callId = callIdFor(owner.attemptId, callNo);
  const common = {
    occurred_at: input.occurredAt,
    run_id: owner.runId,
    // An equal record, sent again after a time-out, has the same event id.
    idempotency_key: `${callId}#e${owner.epoch}`,
    group_id: owner.groupId,
    attempt_id: owner.attemptId,
    epoch: owner.epoch,
    kind: 'CALL' as const,
    call_no: callNo,
    call_id: callId,
    agent_key: input.key,
    request_digest: request.digest,
    wire: 'openai.chat',
    streamed: request.stream,
    model: input.model,
    sampling_json: input.samplingJson,
    ...delta,
    body: null,
  };
  if (result.kind === 'failed') {
    return {
      ...common,
      response_json: JSON.stringify({ error: result.error }),
      output_ids: new Int32Array(0),
      output_logprobs: new Float32Array(0),
      version_runs: [],
      finish_reason: '',
      http_status: result.error.status,
      upstream_attempts: result.attempts,
      latency_ms: result.latencyMs,
      failure: result.failure,
    };
  }
  const { answer } = result;
  const sampled = answer.outputIds.length;
  return {
    ...common,
    response_json: JSON.stringify(answerOfRecord(input, answer)),
    output_ids: answer.outputIds,
    output_logprobs: answer.logprobs,
    version_runs: sampled === 0 ? [] : [{ version: answer.version, length: sampled }],
    finish_reason: answer.finishReason,
    http_status: 200,
    upstream_attempts: answer.attempts,
    latency_ms: answer.latencyMs,
    failure: null,
  };
}

/** How a recorded call was answered. */
export function outcomeOf(
  record: Pick<ModelCalled, 'response_json' | 'streamed' | 'failure' | 'http_status'>,
): Outcome {
  const response = JSON.parse(record.response_json ?? '{}') as ChatAnswer | { readonly error: WireError };
  if ('error' in response) return { kind: 'error', error: response.error };
  if (record.failure) {
    const error = wireError(record.http_status, record.failure.code.toLowerCase(), record.failure.message);
    return { kind: 'error', error };
  }
  return { kind: 'answer', answer: response, streamed: record.streamed };
}
