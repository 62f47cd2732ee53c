import type { MessageNode, TrajectoryBody } from '@espalier/contracts';

/** A message as harness and policy exchange it, as far as it can be shown. */
interface Message {
  readonly role?: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly { readonly function?: { readonly name?: string; readonly arguments?: string } }[];
}

/** The path from the root to a node, root first. */
function pathTo(body: TrajectoryBody, leaf: number): MessageNode[] {
  const path: MessageNode[] = [];
  for (let at = leaf; at >= 0;) {
    const node = body.nodes[at];
    // A parent comes before its child; anything else is no tree.
    if (!node || node.parent >= at) break;
    path.unshift(node);
    at = node.parent;
  }
  return path;
}

/** The conversation that the attempt was: the path to the answer of its last main call. */
export function mainPath(body: TrajectoryBody): MessageNode[] {
  const main = body.calls.filter(({ call_class, answer_node }) => call_class === 'main' && answer_node >= 0);
  const leaf = main.at(-1)?.answer_node ?? body.nodes.at(-1)?.node_no ?? -1;
  return pathTo(body, leaf);
}

/** The messages of a path as the harness or the policy gave them. */
export const messagesOf = (path: readonly MessageNode[]): unknown[] =>
  path.map(({ message_json }) => JSON.parse(message_json) as unknown);

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return content === null || content === undefined ? '' : JSON.stringify(content);
  return content
    .map((part: unknown) => {
      const { text, type } = part as { text?: unknown; type?: unknown };
      return typeof text === 'string' ? text : `[${typeof type === 'string' ? type : 'part'}]`;
    })
    .join('\n');
}

function callText(call: NonNullable<Message['tool_calls']>[number]): string {
  const { name = 'tool', arguments: text = '' } = call.function ?? {};
  try {
    const fields = Object.entries(JSON.parse(text) as Record<string, unknown>);
    const [only] = fields;
    if (fields.length === 1 && only && typeof only[1] === 'string') return `${name}: ${only[1]}`;
  } catch {
    // Arguments that are not JSON are shown as the policy wrote them.
  }
  return `${name}: ${text}`;
}

/** A conversation for reading: a heading per message, what was sampled marked, text indented. */
export function conversationLines(path: readonly MessageNode[]): string[] {
  return path.flatMap((node) => {
    const message = JSON.parse(node.message_json) as Message;
    const text = textOf(message.content);
    const parts = [
      ...(text === '' ? [] : text.split('\n')),
      ...(message.tool_calls ?? []).flatMap((call) => `→ ${callText(call)}`.split('\n')),
    ];
    const mark = node.sampled ? ` (sampled in call ${node.call_no})` : '';
    return [`── ${message.role ?? node.role}${mark}`, ...parts.map((line) => `   ${line}`), ''];
  });
}
