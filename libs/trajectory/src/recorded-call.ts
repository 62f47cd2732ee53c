import type { Failure, ModelCalled, VersionRun } from '@espalier/contracts';
import { asMessages, type ChatMessage, type Json } from './canonical-message.ts';
import { classOf, type CallClass, type ClassedCall } from './call-class.ts';
import { MessageError, TrajectoryLogError } from './errors.ts';
import type { MessageTree } from './message-tree.ts';
import { versionedTokens } from './runs.ts';
import { continuationOf, type DriftOptions, type TokenCall } from './token-tree.ts';

/** A record of `model.called` as the builder needs it: a decoded `ModelCalled` has it. */
export type CallRecord = Omit<ModelCalled, 'event_id' | 'producer' | 'run_id' | 'idempotency_key' | 'group_id'>;

/** A call in its place. */
export interface CallState {
  readonly callNo: number;
  readonly callId: string;
  /** Last message of the prompt; -1 if it had none. */
  readonly leafNode: number;
  /** -1 if the call failed. */
  readonly answerNode: number;
  readonly wire: string;
  readonly samplingJson: string;
  /** Tools in effect, as JSON; null without any. */
  readonly toolsJson: string | null;
  readonly callClass: CallClass;
  readonly promptTokens: number;
  readonly versionRuns: readonly VersionRun[];
  readonly finishReason: string;
  readonly latencyMs: number;
  readonly startedAt: number;
  readonly failure: Failure | null;
  readonly toolCalls: number;
  /** Null if the call failed. */
  readonly tokens: TokenCall | null;
}

const wrong = (record: CallRecord, what: string): TrajectoryLogError =>
  new TrajectoryLogError(`model call ${record.call_id}: ${what}`);

function parsed<T>(record: CallRecord, field: string, text: string, check: (value: Json) => T): T {
  try {
    return check(JSON.parse(text) as Json);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof MessageError)
      throw wrong(record, `${field}: ${error.message}`);
    throw error;
  }
}

/** The answer's message of a record's `response_json`; null when the call failed. */
export function answerOf(record: CallRecord): ChatMessage | null {
  if (record.failure || record.response_json === null) return null;
  return parsed(record, 'response_json', record.response_json, (value) => {
    const message = (value as { message?: Json }).message;
    return asMessages([message])[0] ?? null;
  });
}

function tokensOf(record: CallRecord, answerNode: number, before: TokenCall | null, drift: DriftOptions): TokenCall {
  const { prompt_suffix_ids: ids, prompt_realigned: realigned, output_ids: output, output_logprobs: logprobs } = record;
  if (output.length !== logprobs.length) {
    throw wrong(record, `${output.length} sampled tokens but ${logprobs.length} log-probs`);
  }
  if (versionedTokens(record.version_runs) !== output.length) {
    throw wrong(record, `version runs do not cover its ${output.length} sampled tokens`);
  }
  const own = { callNo: record.call_no, answerNode, output, logprobs, versions: record.version_runs };
  const whole = realigned || !before;
  const continuation = whole
    ? continuationOf(before, ids, drift)
    : ({ drift: 'clean', kept: before.output.length } as const);
  const continues = continuation.drift === 'clean' || continuation.drift === 'realign' ? before : null;
  const promptLength = whole ? ids.length : before.promptLength + before.output.length + ids.length;
  if (promptLength !== record.prompt_token_count) {
    throw wrong(record, `its prompt has ${record.prompt_token_count} tokens, but the log gives ${promptLength}`);
  }
  const suffix = whole && continues ? ids.subarray(continues.promptLength + continuation.kept) : ids;
  return { ...own, ...continuation, before: continues, suffix, promptLength };
}

/**
 * Puts a recorded call into the tree below the call it names as its parent. Throws {@link TrajectoryLogError} when the
 * record does not fit.
 */
export function placeRecord(
  record: CallRecord,
  tree: MessageTree,
  parent: CallState | null,
  main: ClassedCall | null,
  drift: DriftOptions,
): CallState {
  if (record.messages_json === null) {
    throw wrong(record, 'its messages are in the object store; resolve `body` before applying it');
  }
  const held = parent ? (tree.node(parent.answerNode)?.depth ?? 0) : 0;
  if (held !== record.messages_from) {
    throw wrong(record, `it continues ${record.messages_from} messages, but its parent holds ${held}`);
  }
  const messages = parsed(record, 'messages_json', record.messages_json, asMessages);
  const answer = answerOf(record);
  const startedAt = record.occurred_at - record.latency_ms;
  const leafNode = tree.attach(parent?.answerNode ?? -1, messages, startedAt);
  const toolsJson = record.tools_json ?? parent?.toolsJson ?? null;
  const classed: ClassedCall = {
    root: tree.rootOf(leafNode)?.message,
    last: tree.node(leafNode)?.message,
    tools: toolsJson !== null && toolsJson !== '[]',
  };
  const answerNode = answer ? tree.answer(leafNode, answer, record.call_no, record.occurred_at) : -1;
  const calls = answer?.['tool_calls'];
  return {
    callNo: record.call_no,
    callId: record.call_id,
    leafNode,
    answerNode,
    wire: record.wire,
    samplingJson: record.sampling_json,
    toolsJson,
    callClass: classOf(classed, parent?.callClass ?? null, main),
    promptTokens: record.prompt_token_count,
    versionRuns: record.version_runs,
    finishReason: record.finish_reason,
    latencyMs: record.latency_ms,
    startedAt,
    failure: record.failure,
    toolCalls: Array.isArray(calls) ? calls.length : 0,
    tokens: answer ? tokensOf(record, answerNode, parent?.tokens ?? null, drift) : null,
  };
}

/** What later calls are classed against: the call as {@link placeRecord} saw it. */
export function classedOf(call: CallState, tree: MessageTree): ClassedCall {
  return {
    root: tree.rootOf(call.leafNode)?.message,
    last: tree.node(call.leafNode)?.message,
    tools: call.toolsJson !== null && call.toolsJson !== '[]',
  };
}
