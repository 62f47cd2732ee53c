import type { MessageNode, TrajectoryBody } from '@espalier/contracts';

/** How much of what tools printed the judge sees. */
export type ObservationMode = 'none' | 'compact' | 'full';

const OBSERVATION_CHARS: Readonly<Record<ObservationMode, number>> = { none: 0, compact: 600, full: 6_000 };
const MESSAGE_CHARS = 8_000;
const TRANSCRIPT_CHARS = 80_000;

/** Keeps the first and the last part of a long text. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.floor(most / 2);
  return `${text.slice(0, half)}\n[... ${text.length - 2 * half} characters left out ...]\n${text.slice(text.length - half)}`;
}

/** The path that the agent's work ended on: from the deepest last answer to the root. */
function mainPath(body: TrajectoryBody): MessageNode[] {
  const byNumber = new Map(body.nodes.map((node) => [node.node_no, node]));
  const main = body.calls.filter(({ call_class: kind, answer_node: answer }) => kind === 'main' && answer >= 0).at(-1);
  let node = byNumber.get(main?.answer_node ?? -1) ?? body.nodes.at(-1);
  const path: MessageNode[] = [];
  const seen = new Set<number>();
  while (node && !seen.has(node.node_no)) {
    seen.add(node.node_no);
    path.unshift(node);
    node = byNumber.get(node.parent);
  }
  return path;
}

function fieldsOf(json: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function contentOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  return (value as readonly unknown[])
    .map((part) => (typeof part === 'object' && part !== null && 'text' in part ? String(part.text) : ''))
    .join('');
}

/** A trajectory as text for a judge, the system prompt left out. */
export function transcriptOf(body: TrajectoryBody, mode: ObservationMode): string {
  const parts = mainPath(body).flatMap((node, index): string[] => {
    const message = fieldsOf(node.message_json);
    const content = contentOf(message['content']);
    switch (node.role) {
      case 'system':
      case 'developer':
        return [];
      case 'tool':
        return [
          mode === 'none'
            ? `[${index}] OUTPUT (not shown)`
            : `[${index}] OUTPUT\n${shortened(content, OBSERVATION_CHARS[mode])}`,
        ];
      case 'assistant': {
        const calls = Array.isArray(message['tool_calls']) ? (message['tool_calls'] as readonly unknown[]) : [];
        const called = calls.map(
          (call) => `CALL ${JSON.stringify(fieldsOf(JSON.stringify(call))['function'] ?? null)}`,
        );
        return [`[${index}] AGENT\n${shortened([content, ...called].filter(Boolean).join('\n'), MESSAGE_CHARS)}`];
      }
      default:
        return [`[${index}] ${node.role.toUpperCase()}\n${shortened(content, MESSAGE_CHARS)}`];
    }
  });
  return shortened(parts.join('\n\n'), TRANSCRIPT_CHARS);
}
