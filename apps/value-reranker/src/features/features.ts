import type { TrajectoryBody, TrajectoryCounts, TrajectoryStatus } from '@espalier/contracts';
import { addHashed } from './hashing.ts';

/** Changes whenever features do: models of another version are not used. */
export const FEATURES_VERSION = 1;

/** What is known of a trajectory before any verdict; a member of a group and a scored trajectory both have it. */
export interface Candidate {
  readonly trajectoryId: string;
  readonly groupId: string;
  readonly taskId: string;
  readonly status: TrajectoryStatus;
  readonly counts: TrajectoryCounts;
  /** null when it could not be read. */
  readonly body: TrajectoryBody | null;
}

const ACTION_BUCKETS = 96;
const WORD_BUCKETS = 32;

const numericNames = [
  'model_calls',
  'turns',
  'prompt_tokens',
  'sampled_tokens',
  'tool_calls',
  'tokens_per_call',
  'model_seconds',
  'slowest_call_seconds',
  'failed_calls',
  'cut_calls',
  'side_calls',
  'nodes',
  'failed_tools',
  'last_message_chars',
  'log_chars',
  'completed',
  'truncated',
  'has_body',
] as const;

/** Names of the features, in their order. */
export const featureNames: readonly string[] = [
  ...numericNames,
  ...Array.from({ length: ACTION_BUCKETS }, (_, at) => `action_${at}`),
  ...Array.from({ length: WORD_BUCKETS }, (_, at) => `word_${at}`),
];

/** Counts differ by orders of magnitude between tasks. */
const scaled = (value: number): number => Math.log1p(Math.max(0, value));

const flag = (value: boolean): number => (value ? 1 : 0);

/** How tool outputs of common harnesses tell that a command failed. */
const FAILED_TOOL =
  /\[exit code: [1-9]\d*\]|"exit_code":\s*[1-9]|<returncode>[1-9]|Traceback \(most recent call last\)/;

/** What the policy said, one text a message: tool calls and content, without ids. */
function sayings(body: TrajectoryBody): string[] {
  return body.nodes
    .filter(({ sampled }) => sampled)
    .map(({ message_json: json }) => {
      const message = parsed(json);
      const calls = Array.isArray(message['tool_calls']) ? (message['tool_calls'] as readonly unknown[]) : [];
      const called = calls.map((call) => JSON.stringify((call as { readonly function?: unknown }).function ?? null));
      return [typeof message['content'] === 'string' ? message['content'] : '', ...called].join('\n').trim();
    });
}

function parsed(json: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/**
 * A trajectory as numbers: sizes and times (log scale), how it ended, and what the policy did, hashed: each action
 * together with its task (what worked before on this task), and the words of all actions (what works anywhere).
 */
export function featuresOf(candidate: Candidate): number[] {
  const { counts, status, body } = candidate;
  const calls = body?.calls ?? [];
  const said = body ? sayings(body) : [];
  const latencies = calls.map(({ latency_ms: latency }) => latency / 1_000);
  const tools = (body?.nodes ?? []).filter(({ role }) => role === 'tool');
  const numeric: Record<(typeof numericNames)[number], number> = {
    model_calls: scaled(counts.model_calls),
    turns: scaled(counts.turns),
    prompt_tokens: scaled(counts.prompt_tokens),
    sampled_tokens: scaled(counts.sampled_tokens),
    tool_calls: scaled(counts.tool_calls),
    tokens_per_call: scaled(counts.sampled_tokens / Math.max(1, counts.model_calls)),
    model_seconds: scaled(latencies.reduce((sum, value) => sum + value, 0)),
    slowest_call_seconds: scaled(Math.max(0, ...latencies)),
    failed_calls: scaled(calls.filter(({ failure }) => failure !== null).length),
    cut_calls: scaled(calls.filter(({ finish_reason: reason }) => reason === 'length').length),
    side_calls: scaled(calls.filter(({ call_class: kind }) => kind !== 'main').length),
    nodes: scaled(body?.nodes.length ?? 0),
    failed_tools: scaled(tools.filter(({ message_json: json }) => FAILED_TOOL.test(json)).length),
    last_message_chars: scaled(said.at(-1)?.length ?? 0),
    log_chars: scaled(body?.harness_log.length ?? 0),
    completed: flag(status === 'COMPLETED'),
    truncated: flag(status === 'TRUNCATED'),
    has_body: flag(body !== null),
  };
  const actions = new Array<number>(ACTION_BUCKETS).fill(0);
  const words = new Array<number>(WORD_BUCKETS).fill(0);
  for (const text of said) {
    addHashed(actions, `${candidate.taskId}\0${text}`);
    const distinct = new Set(text.split(/[^\w<>=+*/%-]+/).filter((word) => word !== ''));
    for (const word of distinct) addHashed(words, word, 1 / Math.sqrt(distinct.size));
  }
  return [...numericNames.map((name) => numeric[name]), ...actions, ...words];
}
