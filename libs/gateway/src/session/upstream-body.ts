import type { PolicyConfig } from '@espalier/contracts';
import type { Json } from '@espalier/trajectory';
import { RequestError } from '../errors.ts';
import type { ChatRequest } from '../wire/chat-request.ts';

/** What the gateway decides about a call. */
export interface CallSampling {
  readonly seed: number;
  readonly maxTokens: number;
}

function extraFields(policy: PolicyConfig): Record<string, Json> {
  if (policy.extra_json === '') return {};
  try {
    const extra = JSON.parse(policy.extra_json) as Json;
    if (typeof extra === 'object' && extra !== null && !Array.isArray(extra))
      return { ...extra } as Record<string, Json>;
  } catch {
    // Said below.
  }
  throw new RequestError(400, 'invalid_request', "the run's policy.extra_json is not a JSON object");
}

/**
 * The request for the policy server: the harness's messages and tools, sampled as the run says (whatever the harness asked
 * for, since log-probs must belong to the run's distribution), with token ids and log-probs asked back, not streaming.
 */
export function upstreamBody(
  request: ChatRequest,
  policy: PolicyConfig,
  { seed, maxTokens }: CallSampling,
): { readonly body: string; readonly samplingJson: string } {
  const sampling = {
    ...extraFields(policy),
    model: policy.model,
    temperature: policy.temperature,
    top_p: policy.top_p,
    max_tokens: maxTokens,
    seed: seed % 0x7fffffff,
    ...request.passed,
  };
  const body = {
    ...sampling,
    messages: request.messages,
    ...(request.toolsJson === null ? {} : { tools: JSON.parse(request.toolsJson) as Json }),
    stream: false,
    n: 1,
    logprobs: true,
    top_logprobs: 0,
    return_token_ids: true,
  };
  return { body: JSON.stringify(body), samplingJson: JSON.stringify(sampling) };
}
