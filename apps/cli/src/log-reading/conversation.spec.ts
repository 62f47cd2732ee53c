import type { TrajectoryBody } from '@espalier/contracts';
import { describe, expect, it } from 'vitest';
import { conversationLines, mainPath, messagesOf } from './conversation.ts';

const node = (node_no: number, parent: number, message: object, sampled = false): TrajectoryBody['nodes'][number] => ({
  ...{ node_no, parent, sampled, call_no: sampled ? node_no : -1, timestamp: 0 },
  ...{ role: (message as { role: string }).role, message_json: JSON.stringify(message) },
});
const call = (call_no: number, answer_node: number, call_class = 'main'): TrajectoryBody['calls'][number] =>
  ({ call_no, answer_node, call_class }) as TrajectoryBody['calls'][number];

const body = {
  nodes: [
    node(0, -1, { role: 'user', content: 'hello' }),
    node(1, 0, { role: 'assistant', content: 'first' }, true),
    node(2, 0, { role: 'assistant', content: [{ type: 'text', text: 'second' }, { type: 'image_url' }] }, true),
    node(3, -1, { role: 'user', content: 'a title, please' }),
    node(4, 3, { role: 'assistant', content: 'Greeting' }, true),
  ],
  calls: [call(0, 1), call(1, 2), call(2, 4, 'title'), call(3, -1)],
} as unknown as TrajectoryBody;

describe('mainPath', () => {
  it('leads to the last answer of the main conversation, past branches and side calls', () => {
    expect(mainPath(body).map(({ node_no }) => node_no)).toEqual([0, 2]);
    expect(messagesOf(mainPath(body))).toMatchObject([{ content: 'hello' }, { role: 'assistant' }]);
  });

  it('ends where a body is no tree', () => {
    const looped = { nodes: [node(0, 1, { role: 'user' }), node(1, 0, { role: 'assistant' })], calls: [call(0, 1)] };
    expect(mainPath(looped as unknown as TrajectoryBody).map(({ node_no }) => node_no)).toEqual([1]);
  });

  it('is empty for an empty body', () => {
    expect(mainPath({ nodes: [], calls: [] } as unknown as TrajectoryBody)).toEqual([]);
  });
});

describe('conversationLines', () => {
  it('marks what was sampled, and shows parts that are no text by their type', () => {
    expect(conversationLines(mainPath(body))).toEqual([
      ...['── user', '   hello', ''],
      ...['── assistant (sampled in call 2)', '   second', '   [image_url]', ''],
    ]);
  });

  it('shows a command as it would be typed, and other arguments as they are', () => {
    const tool_calls = [
      { function: { name: 'bash', arguments: '{"command":"ls\\npwd"}' } },
      { function: { name: 'edit', arguments: '{"a":1}' } },
      { function: { name: 'bash', arguments: '{broken' } },
    ];
    expect(conversationLines([node(0, -1, { role: 'assistant', content: null, tool_calls })])).toEqual([
      ...['── assistant', '   → bash: ls', '   pwd', '   → edit: {"a":1}', '   → bash: {broken', ''],
    ]);
  });
});
