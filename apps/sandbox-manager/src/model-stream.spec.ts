import {
  openModelStream,
  type AgentAccess,
  type ModelAnswer,
  type ModelCall,
  type SandboxClient,
} from '@espalier/sandbox-client';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ManagerProcess } from './testing/manager-process.ts';

// Real processes on a machine that may be busy with other suites.
vi.setConfig({ testTimeout: 120_000 });

const manager = new ManagerProcess();
let client: SandboxClient;
let access: AgentAccess;
let epoch = 0;

beforeAll(async () => {
  await manager.start();
  client = manager.client();
  await client.create({ sandboxId: 'harness', image: 'host' });
  await client.waitReady('harness');
  access = await client.agentAccess('harness');
}, 240_000);

afterAll(async () => {
  client.close();
  await manager.dispose();
});

/** A harness's request, started inside the sandbox. */
const ask = (body: unknown, options = ''): ReturnType<SandboxClient['exec']> =>
  client.exec('harness', {
    argv: [
      'sh',
      '-c',
      `curl -sN ${options} -H "content-type: application/json" -d @- http://127.0.0.1:4010/v1/chat/completions`,
    ],
    stdin: JSON.stringify(body),
  });

/** A runner that hands its calls to the test. */
async function runner(): Promise<{
  calls: { call: ModelCall; answer: ModelAnswer }[];
  next: () => Promise<{ call: ModelCall; answer: ModelAnswer }>;
  stream: Awaited<ReturnType<typeof openModelStream>>;
}> {
  const calls: { call: ModelCall; answer: ModelAnswer }[] = [];
  let seen = 0;
  epoch += 1;
  const stream = await openModelStream(access, {
    epoch,
    onCall: (call, answer) => {
      calls.push({ call, answer });
      return Promise.resolve();
    },
  });
  return {
    calls,
    stream,
    next: async () => {
      await expect.poll(() => calls.length, { timeout: 15_000 }).toBeGreaterThan(seen);
      seen += 1;
      return calls[seen - 1] as { call: ModelCall; answer: ModelAnswer };
    },
  };
}

const events = { 'content-type': 'text/event-stream' };

describe('the model endpoint of a sandbox', () => {
  it('passes a call to the runner and its answer back', async () => {
    const first = await runner();
    const reply = ask({ model: 'm' }, '-w "%{http_code}"');
    const { call, answer } = await first.next();
    expect(call).toMatchObject({ method: 'POST', path: '/v1/chat/completions', body: '{"model":"m"}', delivered: 0 });
    expect(call.headers['content-type']).toBe('application/json');
    answer.head(418, { 'content-type': 'application/json', 'x-note': 'n' });
    await answer.data('{"a":');
    await answer.data('1}');
    answer.end();
    expect((await reply).stdout.text).toBe('{"a":1}418');
    first.stream.close();
    expect(await first.stream.ended).toBe('closed');
  });

  it('holds calls while no runner is there', async () => {
    const reply = ask({ model: 'held' });
    const later = await runner();
    const { call, answer } = await later.next();
    expect(call.body).toBe('{"model":"held"}');
    answer.head(200, { 'content-type': 'application/json' });
    await answer.data('{}');
    answer.end();
    expect((await reply).stdout.text).toBe('{}');
    later.stream.close();
  });

  it('asks the next runner for the rest of a half answer, under the same key', async () => {
    const one = await runner();
    const reply = ask({ model: 'm', stream: true });
    const begun = await one.next();
    begun.answer.head(200, events);
    await begun.answer.data('data: one\n\nda');
    const two = await runner();
    expect(await one.stream.ended).toBe('lost');
    const rest = await two.next();
    expect(rest.call).toMatchObject({ key: begun.call.key, callNo: begun.call.callNo });
    // What had been accepted, neither more nor less: the answer goes on at that byte.
    const whole = 'data: one\n\ndata: two\n\n';
    expect([0, 13]).toContain(rest.call.delivered);
    await begun.answer.data('from the past');
    rest.answer.head(200, events);
    await rest.answer.data(Buffer.from(whole).subarray(rest.call.delivered));
    rest.answer.end();
    expect((await reply).stdout.text).toBe(whole);
    two.stream.close();
  });

  it('refuses a lower epoch', async () => {
    const current = await runner();
    await expect(openModelStream(access, { epoch: epoch - 1, onCall: () => Promise.resolve() })).rejects.toMatchObject({
      code: 'MODEL_STREAM_STALE',
      retryable: false,
    });
    expect(current.calls).toEqual([]);
    current.stream.close();
  });

  it('tells the runner when the harness went away', async () => {
    const current = await runner();
    const reply = ask({ model: 'm' }, '--max-time 1');
    const { call } = await current.next();
    await expect.poll(() => call.signal.aborted, { timeout: 15_000 }).toBe(true);
    expect((await reply).exitCode).toBe(28);
    current.stream.close();
  });

  it('answers 502 when the handler fails', async () => {
    epoch += 1;
    const stream = await openModelStream(access, { epoch, onCall: () => Promise.reject(new Error('no upstream')) });
    const reply = await ask({ model: 'm' }, '-w "%{http_code}"');
    expect(reply.stdout.text).toContain('no upstream');
    expect(reply.stdout.text.endsWith('502')).toBe(true);
    stream.close();
  });

  it('carries many calls at once', async () => {
    epoch += 1;
    const stream = await openModelStream(access, {
      epoch,
      onCall: async (call, answer) => {
        answer.head(200, { 'content-type': 'application/json' });
        await answer.data(call.body);
        answer.end();
      },
    });
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, index) => ask({ index, filler: 'x'.repeat(50_000) })),
    );
    expect(replies.map((job) => (JSON.parse(job.stdout.text) as { index: number }).index)).toEqual([...replies.keys()]);
    stream.close();
  });

  it('does not let anybody in without the token', async () => {
    const stranger = { ...access, token: 'wrong' };
    await expect(openModelStream(stranger, { epoch: 999, onCall: () => Promise.resolve() })).rejects.toMatchObject({
      code: 'MODEL_STREAM_LOST',
    });
  });
});
