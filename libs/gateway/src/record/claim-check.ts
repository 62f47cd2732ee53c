import type { ModelCalled } from '@espalier/contracts';
import { decodeEvent, encodeEvent } from '@espalier/avro';
import type { BodyStore, ModelCallRecord } from '../ports.ts';

/** Records larger than this go to the object store as a whole, bytes. */
export const CLAIM_CHECK_BYTES = 256 * 1024;

const MEDIA_TYPE = 'application/avro';

const sizeOf = (call: ModelCallRecord): number =>
  Buffer.byteLength(call.messages_json ?? '') +
  Buffer.byteLength(call.tools_json ?? '') +
  Buffer.byteLength(call.response_json ?? '') +
  call.prompt_suffix_ids.byteLength +
  call.output_ids.byteLength +
  call.output_logprobs.byteLength;

/**
 * The record as it goes into the log: unchanged when small, else without its large parts, the whole of it (an encoded
 * `model.called`) being in the object store first.
 */
export async function checkIn(call: ModelCallRecord, store: BodyStore, prefix: string): Promise<ModelCallRecord> {
  if (sizeOf(call) <= CLAIM_CHECK_BYTES) return call;
  const content = encodeEvent('model.called', { ...call, event_id: '', producer: '' });
  const body = await store.put(content, { prefix, mediaType: MEDIA_TYPE });
  return {
    ...call,
    messages_json: null,
    tools_json: null,
    response_json: null,
    prompt_suffix_ids: new Int32Array(0),
    output_ids: new Int32Array(0),
    output_logprobs: new Float32Array(0),
    body,
  };
}

/** The whole record, its large parts fetched. Throws what the store throws, and `AVRO_DECODE`. */
export async function checkOut(record: ModelCalled, store: BodyStore): Promise<ModelCalled> {
  if (record.body === null) return record;
  const whole = decodeEvent('model.called', await store.get(record.body));
  return {
    ...record,
    messages_json: whole.messages_json,
    tools_json: whole.tools_json,
    response_json: whole.response_json,
    prompt_suffix_ids: whole.prompt_suffix_ids,
    output_ids: whole.output_ids,
    output_logprobs: whole.output_logprobs,
  };
}
