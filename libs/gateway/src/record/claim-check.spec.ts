import { createHash } from 'node:crypto';
import type { ModelCalled, ObjectRef } from '@espalier/contracts';
import { decodeEvent, encodeEvent } from '@espalier/avro';
import { describe, expect, it } from 'vitest';
import type { BodyStore, ModelCallRecord } from '../ports.ts';
import { checkIn, checkOut } from './claim-check.ts';

class MemoryStore implements BodyStore {
  readonly contents = new Map<string, Buffer>();
  put(content: Buffer, { prefix, mediaType }: { prefix: string; mediaType: string }): Promise<ObjectRef> {
    const digest = createHash('sha256').update(content).digest('hex');
    this.contents.set(digest, content);
    const bytes = content.length;
    return Promise.resolve({
      key: `${prefix}/${digest}`,
      sha256: digest,
      bytes,
      content_digest: digest,
      content_bytes: bytes,
      media_type: mediaType,
      encoding: 'identity',
    });
  }
  get(ref: ObjectRef): Promise<Buffer> {
    return Promise.resolve(this.contents.get(ref.sha256) ?? Buffer.alloc(0));
  }
}

const record = (messages: string, tokens: number): ModelCallRecord => ({
  occurred_at: 1,
  run_id: 'run',
  idempotency_key: 'k',
  group_id: 'run/task/0',
  attempt_id: 'run/task/0/r0/a0',
  epoch: 1,
  kind: 'CALL',
  call_no: 0,
  call_id: 'run/task/0/r0/a0/c0',
  parent_call_id: null,
  agent_key: 'a',
  request_digest: '',
  wire: 'openai.chat',
  streamed: false,
  model: 'policy',
  sampling_json: '{}',
  messages_from: 0,
  messages_json: messages,
  tools_json: '[]',
  response_json: '{}',
  prompt_token_count: 3,
  prompt_suffix_ids: Int32Array.of(1, 2, 3),
  prompt_realigned: false,
  output_ids: new Int32Array(tokens).fill(7),
  output_logprobs: new Float32Array(tokens).fill(-0.5),
  version_runs: [{ version: 1, length: tokens }],
  body: null,
  finish_reason: 'stop',
  http_status: 200,
  upstream_attempts: 1,
  latency_ms: 1,
  failure: null,
});

const throughTheLog = (packed: ModelCallRecord): ModelCalled =>
  decodeEvent('model.called', encodeEvent('model.called', { ...packed, event_id: 'e', producer: 'p' }));

describe('claim check', () => {
  it.each([
    ['a small record', record('[]', 10), false],
    ['long messages', record(JSON.stringify('x'.repeat(300_000)), 10), true],
    ['many tokens', record('[]', 40_000), true],
  ])('carries %s through the log unchanged', async (_name, whole, claimed) => {
    const store = new MemoryStore();
    const packed = await checkIn(whole, store, 'runs/run/calls');
    expect(packed.body !== null).toBe(claimed);
    const stored = throughTheLog(packed);
    const { body: _claim, ...unpacked } = await checkOut(stored, store);
    const { body: _none, ...wanted } = whole;
    expect(unpacked).toEqual({ ...wanted, event_id: 'e', producer: 'p' });
  });
});
