import type { TrajectoryBodyDraft, TrajectoryCounts } from '@espalier/contracts';
import type { ChatMessage } from './canonical-message.ts';
import { MessageTree, type TreeNode } from './message-tree.ts';
import { TrajectoryLogError } from './errors.ts';
import { classedOf, placeRecord, type CallRecord, type CallState } from './recorded-call.ts';
import { samplesOf } from './samples.ts';
import { continuationOf, DEFAULT_DRIFT, type Drift, type DriftOptions, type TokenCall } from './token-tree.ts';

/** Whose trajectory is built. */
export interface TrajectoryIdentity {
  readonly trajectoryId: string;
  readonly attemptId: string;
  readonly taskId: string;
  readonly harness: string;
  readonly model: string;
  readonly instruction: string;
}

/** A request as the harness sent it. */
export interface CallRequest {
  readonly messages: readonly ChatMessage[];
  /** Tools as JSON; null without any. */
  readonly toolsJson: string | null;
}

/** The part of a `model.called` record that says where a call belongs. */
export interface CallDelta {
  readonly parent_call_id: string | null;
  readonly messages_from: number;
  readonly messages_json: string;
  readonly tools_json: string | null;
  readonly prompt_token_count: number;
  readonly prompt_suffix_ids: Int32Array;
  readonly prompt_realigned: boolean;
  /** How the prompt continues the parent; not recorded, the builder finds the same again. */
  readonly drift: Drift;
}

/** A built trajectory. */
export interface BuiltTrajectory {
  readonly body: TrajectoryBodyDraft;
  readonly counts: TrajectoryCounts;
  /** Oldest and newest policy version of a sampled token; null when none was sampled. */
  readonly policyVersionMin: number | null;
  readonly policyVersionMax: number | null;
}

/** Most bytes of the harness's output kept in a body. */
export const HARNESS_LOG_BYTES = 64 * 1024;

const RANK: Record<Drift, number> = { clean: 3, realign: 2, fork: 1, root: 0 };

function tail(text: string): string {
  const bytes = Buffer.from(text);
  return bytes.length <= HARNESS_LOG_BYTES ? text : bytes.subarray(bytes.length - HARNESS_LOG_BYTES).toString('utf8');
}

/**
 * Builds a trajectory from the records of `model.called`, in the order of the log, one by one. It needs nothing else: a
 * builder fed from the log after a crash is equal to the one that was lost.
 */
export class TrajectoryBuilder {
  readonly #identity: TrajectoryIdentity;
  readonly #drift: DriftOptions;
  readonly #tree = new MessageTree();
  readonly #calls = new Map<string, CallState>();
  #epoch = 0;

  constructor(identity: TrajectoryIdentity, drift: DriftOptions = DEFAULT_DRIFT) {
    this.#identity = identity;
    this.#drift = drift;
  }

  /** Calls applied, failed ones included. */
  get callCount(): number {
    return this.#calls.size;
  }

  /** Number the next call gets. */
  get nextCallNo(): number {
    let next = 0;
    for (const { callNo } of this.#calls.values()) next = Math.max(next, callNo + 1);
    return next;
  }

  get sampledTokens(): number {
    let tokens = 0;
    for (const call of this.#calls.values()) tokens += call.tokens?.output.length ?? 0;
    return tokens;
  }

  /** Upstream time of all calls, milliseconds. */
  get modelMs(): number {
    let sum = 0;
    for (const { latencyMs } of this.#calls.values()) sum += latencyMs;
    return sum;
  }

  /** Tokens of prompt and answer that a request with these messages builds on; 0 for one that begins a path. */
  knownTokens(messages: readonly ChatMessage[]): number {
    const tokens = this.#parent({ messages, toolsJson: null }, null)?.tokens;
    return tokens ? tokens.promptLength + tokens.output.length : 0;
  }

  /**
   * Where a request belongs, as the delta to be recorded. Without prompt ids (a call that failed) the delta has none.
   * Records must be made and applied one at a time: a delta is relative to what was applied before.
   */
  delta(request: CallRequest, promptIds: Int32Array | null): CallDelta {
    const parent = this.#parent(request, promptIds);
    const from = parent ? (this.#tree.node(parent.answerNode)?.depth ?? 0) : 0;
    const before = parent?.tokens ?? null;
    const prompt = promptIds ?? new Int32Array(0);
    const { drift } = promptIds ? continuationOf(before, prompt, this.#drift) : { drift: 'root' as const };
    const clean = drift === 'clean' && before !== null;
    const tools = request.toolsJson ?? '[]';
    return {
      parent_call_id: parent?.callId ?? null,
      messages_from: from,
      messages_json: JSON.stringify(request.messages.slice(from)),
      tools_json: tools === (parent?.toolsJson ?? '[]') ? null : tools,
      prompt_token_count: prompt.length,
      prompt_suffix_ids: clean ? prompt.slice(before.promptLength + before.output.length) : prompt,
      prompt_realigned: promptIds !== null && before !== null && !clean,
      drift,
    };
  }

  /**
   * Applies one record; false when it does not count: a call known already, or one of an epoch that was superseded by an
   * adoption before it. Throws `TRAJECTORY_LOG_INVALID` when it does not fit the records before it.
   */
  apply(record: CallRecord): boolean {
    if (record.epoch < this.#epoch) return false;
    switch (record.kind) {
      case 'ADOPTED':
        this.#epoch = record.epoch;
        return true;
      case 'UNKNOWN':
        return false;
      case 'CALL':
        break;
    }
    if (this.#calls.has(record.call_id)) return false;
    const parent = record.parent_call_id === null ? null : (this.#calls.get(record.parent_call_id) ?? undefined);
    if (parent === undefined) {
      throw new TrajectoryLogError(
        `model call ${record.call_id} continues ${record.parent_call_id}, which is not known`,
      );
    }
    const first = [...this.#calls.values()].find(({ callClass }) => callClass === 'main');
    const main = first ? classedOf(first, this.#tree) : null;
    this.#calls.set(record.call_id, placeRecord(record, this.#tree, parent, main, this.#drift));
    return true;
  }

  /** The trajectory of what was applied so far. */
  build(harnessLog = ''): BuiltTrajectory {
    const calls = [...this.#calls.values()].sort((left, right) => left.callNo - right.callNo);
    const tokens = calls.flatMap((call) => call.tokens ?? []);
    const samples = samplesOf(this.#identity.trajectoryId, tokens);
    const versions = tokens.flatMap((call) => call.versions.filter(({ length }) => length > 0));
    return {
      body: {
        trajectory_id: this.#identity.trajectoryId,
        attempt_id: this.#identity.attemptId,
        task_id: this.#identity.taskId,
        harness: this.#identity.harness,
        model: this.#identity.model,
        instruction: this.#identity.instruction,
        nodes: this.#tree.nodes.map(nodeDraft),
        calls: calls.map(callDraft),
        samples,
        harness_log: tail(harnessLog),
      },
      counts: {
        model_calls: calls.length,
        turns: calls.filter((call) => call.tokens !== null && call.callClass === 'main').length,
        prompt_tokens: calls.reduce((sum, call) => sum + call.promptTokens, 0),
        sampled_tokens: tokens.reduce((sum, call) => sum + call.output.length, 0),
        samples: samples.length,
        tool_calls: calls.reduce((sum, call) => sum + call.toolCalls, 0),
      },
      policyVersionMin: versions.reduce<number | null>((min, { version }) => Math.min(min ?? version, version), null),
      policyVersionMax: versions.reduce<number | null>((max, { version }) => Math.max(max ?? version, version), null),
    };
  }

  /**
   * The call whose answer a request continues. Equal answers of several calls are told apart by the prompt's token ids
   * where they are known; else the newest is meant.
   */
  #parent(request: CallRequest, promptIds: Int32Array | null): CallState | null {
    const { candidates } = this.#tree.match(request.messages);
    const states = [...new Set(candidates.map(({ sampledCall }) => sampledCall))].flatMap((callNo) =>
      this.#byNo(callNo),
    );
    if (states.length < 2) return states[0] ?? null;
    const ranked = states.map((state) => ({
      state,
      rank: promptIds ? RANK[continuationOf(state.tokens, promptIds, this.#drift).drift] : 0,
      depth: this.#tree.node(state.answerNode)?.depth ?? 0,
    }));
    ranked.sort(
      (left, right) => right.rank - left.rank || right.depth - left.depth || right.state.callNo - left.state.callNo,
    );
    return ranked[0]?.state ?? null;
  }

  #byNo(callNo: number): CallState[] {
    for (const call of this.#calls.values()) if (call.callNo === callNo) return [call];
    return [];
  }
}

const nodeDraft = (node: TreeNode): TrajectoryBodyDraft['nodes'][number] => ({
  node_no: node.nodeNo,
  parent: node.parent,
  role: node.message.role,
  message_json: JSON.stringify(node.message),
  sampled: node.sampled,
  call_no: node.callNo,
  timestamp: node.timestamp,
});

const outputOf = (tokens: TokenCall | null): number => tokens?.output.length ?? 0;

const callDraft = (call: CallState): TrajectoryBodyDraft['calls'][number] => ({
  call_no: call.callNo,
  leaf_node: call.leafNode,
  answer_node: call.answerNode,
  wire: call.wire,
  sampling_json: call.samplingJson,
  tools_json: call.toolsJson,
  call_class: call.callClass,
  prompt_tokens: call.promptTokens,
  output_tokens: outputOf(call.tokens),
  version_runs: [...call.versionRuns],
  finish_reason: call.finishReason,
  latency_ms: call.latencyMs,
  started_at: call.startedAt,
  failure: call.failure,
});
