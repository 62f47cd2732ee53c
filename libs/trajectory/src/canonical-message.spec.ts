import { describe, expect, it } from 'vitest';
import { asMessages, messageKey, type ChatMessage } from './canonical-message.ts';
import { MessageError } from './errors.ts';

const call = (args: string, id = 'c1'): ChatMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'bash', arguments: args } }],
});

describe('messageKey', () => {
  it.each<[string, ChatMessage, ChatMessage]>([
    ['text parts', { role: 'user', content: 'ab' }, { role: 'user', content: [{ type: 'text', text: 'ab' }] }],
    ['null content', { role: 'assistant', content: null }, { role: 'assistant', content: '' }],
    ['trimmed answers', { role: 'assistant', content: 'ok\n' }, { role: 'assistant', content: 'ok' }],
    [
      'dropped reasoning',
      { role: 'assistant', content: 'a', reasoning_content: 'r' },
      { role: 'assistant', content: 'a' },
    ],
    ['re-serialised arguments', call('{"a": 1,"b":2}'), call('{"b":2,"a":1}')],
    ['renamed ids', call('{}', 'x'), call('{}', 'y')],
    ['developer as system', { role: 'developer', content: 's' }, { role: 'system', content: 's' }],
    [
      'moved cache marks',
      { role: 'user', content: [{ type: 'image', url: 'u', cache_control: { type: 'ephemeral' } }] },
      { role: 'user', content: [{ type: 'image', url: 'u' }] },
    ],
  ])('takes %s for the same message', (_name, left, right) => {
    expect(messageKey(left)).toBe(messageKey(right));
  });

  it.each<[string, ChatMessage, ChatMessage]>([
    ['roles', { role: 'user', content: 'a' }, { role: 'tool', content: 'a' }],
    ['user text that only begins alike', { role: 'user', content: 'a' }, { role: 'user', content: 'a ' }],
    ['arguments', call('{"a":1}'), call('{"a":2}')],
    ['broken arguments', call('{"a":1'), call('{"a":')],
    ['a call and none', call('{}'), { role: 'assistant', content: null }],
    ['names', { role: 'user', content: 'a', name: 'x' }, { role: 'user', content: 'a' }],
  ])('tells %s apart', (_name, left, right) => {
    expect(messageKey(left)).not.toBe(messageKey(right));
  });
});

describe('asMessages', () => {
  it.each([[null], [{}], [[1]], [[{ role: 1 }]], [[{ role: 'user' }, { content: 'x' }]]])('refuses %j', (value) => {
    expect(() => asMessages(value)).toThrow(MessageError);
  });
});
