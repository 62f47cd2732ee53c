import type { CallRecord } from '../recorded-call.ts';
import type { ChatMessage } from '../canonical-message.ts';
import { TrajectoryBuilder } from '../trajectory-builder.ts';

/**
 * A scripted attempt for specs: renders prompts the way a template does (every message has its own token ids, answers keep
 * the sampled ones), gives every sampled token an id of its own, and can make the prompt drift.
 */
export class ScriptedAttempt {
  readonly builder = new TrajectoryBuilder({
    trajectoryId: 'run/task/0/r0/a0/t',
    attemptId: 'run/task/0/r0/a0',
    taskId: 'task',
    harness: 'mini',
    model: 'policy',
    instruction: 'do it',
  });
  readonly log: CallRecord[] = [];
  /** Every sampled token id, with its log-prob and policy version. */
  readonly sampled = new Map<number, { logprob: number; version: number }>();
  #nextSampled = 1_000_000;

  /** Asks the policy with `messages`, whose rendered tokens are `prompt`. */
  call(
    messages: readonly ChatMessage[],
    prompt: readonly number[],
    answer: { text: string; tokens: number; version: number; toolsJson?: string | null },
  ): { message: ChatMessage; output: number[] } {
    const promptIds = Int32Array.from(prompt);
    const callNo = this.builder.nextCallNo;
    const { drift: _found, ...delta } = this.builder.delta(
      { messages, toolsJson: answer.toolsJson ?? null },
      promptIds,
    );
    const output = Array.from({ length: answer.tokens }, () => this.#nextSampled++);
    const logprobs = Float32Array.from(output, (id) => -((id % 97) + 1) / 100);
    output.forEach((id, index) => this.sampled.set(id, { logprob: logprobs[index] ?? 0, version: answer.version }));
    const message: ChatMessage = { role: 'assistant', content: answer.text };
    const record: CallRecord = {
      ...delta,
      occurred_at: 1_000 + callNo,
      attempt_id: 'run/task/0/r0/a0',
      epoch: 1,
      kind: 'CALL',
      call_no: callNo,
      call_id: `run/task/0/r0/a0/c${callNo}`,
      agent_key: `key-${callNo}`,
      request_digest: `digest-${callNo}`,
      wire: 'openai.chat',
      streamed: false,
      model: 'policy',
      sampling_json: '{}',
      response_json: JSON.stringify({ message, finish_reason: 'stop' }),
      output_ids: Int32Array.from(output),
      output_logprobs: logprobs,
      version_runs: output.length === 0 ? [] : [{ version: answer.version, length: output.length }],
      body: null,
      finish_reason: 'stop',
      http_status: 200,
      upstream_attempts: 1,
      latency_ms: 5,
      failure: null,
    };
    this.log.push(record);
    this.builder.apply(record);
    return { message, output };
  }
}
