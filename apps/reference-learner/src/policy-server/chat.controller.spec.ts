import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Test } from '@nestjs/testing';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkpointOf, encodeCheckpoint, untrained } from '../checkpoints/checkpoint.ts';
import { LogitTable } from '../policy-model/logit-table.ts';
import { numbered } from '../simulation/simulate.ts';
import { ADMIN_KEY, ChatController } from './chat.controller.ts';
import type { ChatCompletion } from './chat-completions.ts';
import { PolicyHolder } from './served-policy.ts';

let folder: string;
let app: NestFastifyApplication;
let holder: PolicyHolder;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'policy-server-'));
  holder = new PolicyHolder('reference', join(folder, 'served.json'));
  const module = await Test.createTestingModule({
    controllers: [ChatController],
    providers: [
      { provide: PolicyHolder, useValue: holder },
      { provide: ADMIN_KEY, useValue: 'key' },
    ],
  }).compile();
  app = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { logger: false });
  await app.init();
});
afterEach(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

type Message = Record<string, unknown>;
const tools = [{ type: 'function', function: { name: 'bash', description: 'Run', parameters: {} } }];
const program = 'def f(a, b):\n    if a < b:\n        return a + b\n    return min(a, b)\n';

async function post(url: string, payload: object, key = 'key'): Promise<{ status: number; body: unknown }> {
  const response = await app.inject({ method: 'POST', url, payload, headers: { authorization: `Bearer ${key}` } });
  return { status: response.statusCode, body: response.json() };
}

async function ask(messages: Message[], more: object = {}): Promise<ChatCompletion> {
  const { status, body } = await post('/v1/chat/completions', { model: 'reference', messages, tools, ...more });
  expect(status).toBe(200);
  return body as ChatCompletion;
}

const opening: Message[] = [
  { role: 'system', content: 'You work in a sandbox.' },
  { role: 'user', content: [{ type: 'text', text: 'The program /app/f.py has a bug.' }] },
];

/** The harness's part: the answer as it came, then what the command printed. */
const reply = (completion: ChatCompletion, output: string): Message[] => {
  const { message } = completion.choices[0];
  return [{ ...message }, { role: 'tool', tool_call_id: message.tool_calls?.[0]?.id, content: output }];
};

describe('chat completions', () => {
  it('plays a rollout whose prompts extend one another token for token', async () => {
    const messages = [...opening];
    let before: number[] = [];
    for (const output of [`${numbered(program)}[exit code: 0]`, '[exit code: 0]', null]) {
      const completion = await ask(messages, { seed: 7 });
      const [choice] = completion.choices;
      expect(completion.prompt_token_ids.slice(0, before.length)).toEqual(before);
      expect(choice.logprobs.content).toHaveLength(choice.token_ids.length);
      expect(choice.logprobs.content.every(({ logprob }) => logprob <= 0)).toBe(true);
      expect(completion.usage.prompt_tokens).toBe(completion.prompt_token_ids.length);
      before = [...completion.prompt_token_ids, ...choice.token_ids];
      if (output === null) {
        expect(choice.finish_reason).toBe('stop');
        expect(choice.message.content).toMatch(/^I edited/);
        return;
      }
      expect(choice.finish_reason).toBe('tool_calls');
      expect(choice.message.content).toBeNull();
      messages.push(...reply(completion, output));
    }
  });

  it('repeats exactly for a seed, ids included, and differs without one', async () => {
    const first = await ask(opening);
    const messages = [...opening, ...reply(first, numbered(program))];
    const { created: _, ...one } = await ask(messages, { seed: 3 });
    const { created: __, ...two } = await ask(messages, { seed: 3 });
    expect(two).toEqual(one);
    const texts = new Set<string | undefined>();
    for (let times = 0; times < 40; times++)
      texts.add((await ask(messages)).choices[0].message.tool_calls?.[0]?.function.arguments);
    expect(texts.size).toBe(3);
  });

  it('says that an answer was cut off', async () => {
    const completion = await ask(opening, { max_tokens: 12 });
    const [choice] = completion.choices;
    expect(choice.finish_reason).toBe('length');
    expect(choice.token_ids).toHaveLength(12);
    expect(choice.message.tool_calls).toBeUndefined();
  });

  it('refuses what it cannot do in words', async () => {
    const refusal = async (body: object): Promise<string> => {
      const { status, body: answer } = await post('/v1/chat/completions', body);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
      return (answer as { error: { message: string } }).error.message;
    };
    expect(await refusal({})).toContain('messages');
    expect(await refusal({ messages: opening, stream: true })).toContain('stream');
    expect(await refusal({ messages: opening, n: 3 })).toContain('n:');
    expect(await refusal({ messages: opening, top_p: 0.5 })).toContain('top_p');
    expect(await refusal({ messages: opening, model: 'gpt' })).toContain('"gpt" is not served');
  });
});

describe('loading', () => {
  it('serves a checkpoint from the next request on, and after a restart', async () => {
    expect((await ask(opening)).policy_version).toBe(0);
    const table = new LogitTable();
    table.add('place', 65, 1.5);
    const checkpoint = checkpointOf({ ...untrained('run'), seq: 3, version: 2, table });
    const { status } = await post('/admin/load', JSON.parse(encodeCheckpoint(checkpoint)) as object);
    expect(status).toBe(200);
    expect((await ask(opening)).policy_version).toBe(2);
    const restarted = new PolicyHolder('reference', join(folder, 'served.json'));
    await restarted.restore();
    expect(restarted.current).toMatchObject({ version: 2, runId: 'run', checkpoint: checkpoint.name });
    expect(restarted.current.table.at('place', 65)).toBe(1.5);
    const models = await app.inject({ method: 'GET', url: '/v1/models' });
    expect(models.json()).toMatchObject({ data: [{ id: 'reference', policy_version: 2, run_id: 'run' }] });
  });

  it('takes versions only from who has the admin key', async () => {
    const file = JSON.parse(encodeCheckpoint(checkpointOf({ ...untrained('run'), version: 5 }))) as object;
    expect(await post('/admin/load', file, 'guess')).toMatchObject({ status: 401 });
    expect((await ask(opening)).policy_version).toBe(0);
    expect(await post('/admin/load', file)).toMatchObject({ status: 200 });
  });

  it('refuses a checkpoint whose content was altered', async () => {
    const altered = { ...(JSON.parse(encodeCheckpoint(untrained('run'))) as object), version: 9 };
    expect(await post('/admin/load', altered)).toMatchObject({
      status: 422,
      body: { error: { code: 'CHECKPOINT_CORRUPT' } },
    });
    expect((await ask(opening)).policy_version).toBe(0);
  });
});
