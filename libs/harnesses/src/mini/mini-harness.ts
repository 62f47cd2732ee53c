import { z } from 'zod';
import type { Harness, HarnessExit, HarnessInput, HarnessOutcome, HarnessPlan } from '../harness.ts';
import { parseOptions } from '../options.ts';
import { abnormal, failed, submitted, tail, truncated } from '../outcomes.ts';

/** Payload with the binary; the runner mounts it read-only. */
const PAYLOAD = 'mini';
const BINARY = `/opt/espalier/${PAYLOAD}/mini-agent`;
const INSTRUCTION = '/logs/agent/instruction.md';
const LOG = '/logs/agent/mini.jsonl';

const schema = z.strictObject({
  /** Most model calls. */
  max_turns: z.int().min(1).max(10_000).default(50),
  /** Limit of one command, seconds. */
  command_timeout_s: z.number().positive().max(86_400).default(120),
  /** Whether to ask the endpoint for streams. */
  stream: z.boolean().default(false),
});

/** Exit codes of mini-agent; documented in its `--help`. */
const EXIT = {
  submitted: 0,
  crashed: 1,
  maxTurns: 2,
  modelEndpoint: 3,
  usage: 4,
  contextLength: 5,
  cancelled: 6,
} as const;

/** The product's own one-tool agent: one static binary that starts in milliseconds in any image. */
export const mini: Harness = {
  name: 'mini',
  version: '1',
  payloads: [PAYLOAD],
  callsModel: true,
  // It waits for the endpoint as long as it takes: no client time-out, retries while nobody listens.
  adoptable: true,
  options: (configJson) => parseOptions('mini', schema, configJson),

  plan(input: HarnessInput): HarnessPlan {
    const options = parseOptions('mini', schema, input.configJson);
    const commandTimeout = Math.min(options.command_timeout_s, Math.ceil(input.wallMs / 1_000));
    return {
      files: [{ path: INSTRUCTION, content: Buffer.from(input.instruction, 'utf8'), mode: 0o644 }],
      argv: [
        BINARY,
        ...['--model', input.model],
        ...['--instruction-file', INSTRUCTION],
        ...['--cwd', input.workdir],
        ...['--max-turns', String(options.max_turns)],
        ...['--command-timeout', `${commandTimeout}s`],
        ...['--log', LOG],
        ...(options.stream ? ['--stream'] : []),
      ],
      env: { OPENAI_BASE_URL: `${input.baseUrl}/v1`, OPENAI_API_KEY: input.apiKey },
      cwd: input.workdir,
    };
  },

  outcome(exit: HarnessExit): HarnessOutcome {
    const early = abnormal('mini-agent', exit);
    if (early) return early;
    switch (exit.exitCode) {
      case EXIT.submitted:
        return submitted;
      case EXIT.maxTurns:
        return truncated('MODEL_CALLS', 'BUDGET_MODEL_CALLS', 'mini-agent used all its turns');
      case EXIT.contextLength:
        return truncated('TOKENS', 'BUDGET_CONTEXT', 'The conversation outgrew the context of the model');
      case EXIT.modelEndpoint:
        return failed('INFRA', 'MODEL_ENDPOINT', 'LLM_ENDPOINT', `The model endpoint failed${tail(exit)}`, true);
      case EXIT.usage:
        return failed('INFRA', 'HARNESS_CRASH', 'HARNESS_USAGE', `mini-agent refused its options${tail(exit)}`, false);
      case EXIT.cancelled:
        return failed('CONTROL', 'CANCELLED', 'HARNESS_CANCELLED', 'mini-agent was asked to stop', true);
      case EXIT.crashed:
      default: {
        const message = `mini-agent ended with exit code ${exit.exitCode}${tail(exit)}`;
        return failed('INFRA', 'HARNESS_CRASH', 'HARNESS_EXIT', message, true);
      }
    }
  },
};
