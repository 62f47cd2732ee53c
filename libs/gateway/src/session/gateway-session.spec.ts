import { afterEach, describe, expect, it } from 'vitest';
import { completion, ScriptedUpstream, sendJson, type Script } from '../testing/scripted-upstream.ts';
import { asRead, assistant, SessionFixture, user } from '../testing/session-fixture.ts';

const running: ScriptedUpstream[] = [];
async function upstream(...scripts: Script[]): Promise<ScriptedUpstream> {
  const started = await ScriptedUpstream.start(...scripts);
  running.push(started);
  return started;
}
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()));
});

const says =
  (text: string, change: Parameters<typeof completion>[2] = {}): Script =>
  (request, response) =>
    sendJson(response, completion(request, text, change));

const task = user('fix it');

describe('GatewaySession', () => {
  it('asks with token ids and log-probs, records, then answers without them', async () => {
    const server = await upstream(says('ls'));
    const fixture = new SessionFixture([server.endpoint], { extraJson: '{"top_k":-1}' });
    let recordedFirst = false;
    fixture.onRecord = () => {
      recordedFirst = true;
    };
    const answer = await fixture.ask({ messages: [task], temperature: 0.2, logit_bias: { '1': 5 }, max_tokens: 100 });
    expect(recordedFirst).toBe(true);
    expect([answer.status, answer.content, answer.ended]).toEqual([200, 'ls', true]);
    expect(answer.text).not.toContain('token_ids');
    expect(server.seen[0]?.body).toMatchObject({
      model: 'policy',
      temperature: 1,
      top_k: -1,
      seed: 40,
      max_tokens: 100,
      stream: false,
      logprobs: true,
      return_token_ids: true,
    });
    expect(server.seen[0]?.body).not.toHaveProperty('logit_bias');
    expect(fixture.log[0]).toMatchObject({
      call_id: 'run/task/0/r1/a0/c0',
      parent_call_id: null,
      version_runs: [{ version: 3, length: 2 }],
      finish_reason: 'stop',
      failure: null,
    });
  });

  it('records a conversation as deltas that grow into one sample', async () => {
    const server = await upstream(says('ls'), says('done'));
    const fixture = new SessionFixture([server.endpoint]);
    await fixture.ask({ messages: [task] });
    await fixture.ask({ messages: [task, assistant('ls'), user('README')] });
    expect(fixture.log[1]).toMatchObject({ parent_call_id: 'run/task/0/r1/a0/c0', messages_from: 2 });
    expect(fixture.log[1]?.messages_json).toBe(JSON.stringify([user('README')]));
    const { counts, body } = fixture.builder.build();
    expect(counts).toMatchObject({ model_calls: 2, samples: 1, sampled_tokens: 6 });
    expect(body.samples[0]?.version_runs).toEqual([{ version: 3, length: 6 }]);
    expect(server.seen.map(({ body: { seed } }) => seed)).toEqual([40, 41]);
  });

  it('streams the recorded answer, and continues it at any byte', async () => {
    const text = 'a longer answer, ünïcödé included: '.repeat(8);
    const call = { id: 'c1', type: 'function', function: { name: 'bash', arguments: '{"command":"ls"}' } };
    const message = { role: 'assistant', content: text, tool_calls: [call] };
    const server = await upstream(says(text, { message, choice: { finish_reason: 'tool_calls' } }));
    const fixture = new SessionFixture([server.endpoint]);
    const request = fixture.call({ messages: [task], stream: true, stream_options: { include_usage: true } });
    const whole = await fixture.send(request);
    expect(whole.headers['content-type']).toContain('text/event-stream');
    const events = whole.text.split('\n\n').filter((line) => line !== '');
    expect(events.at(-1)).toBe('data: [DONE]');
    const chunks = events.slice(0, -1).map((line) => JSON.parse(line.slice('data: '.length)) as StreamChunk);
    const content = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
    const args = chunks.map(({ choices }) => choices[0]?.delta.tool_calls?.[0]?.function.arguments ?? '').join('');
    expect([content, args]).toEqual([text, '{"command":"ls"}']);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('tool_calls');
    expect(chunks.at(-1)?.usage).toMatchObject({ completion_tokens: Buffer.byteLength(text) });

    // The same call again, as the agent sends it over a new stream to another runner, which knows the log alone.
    const adopter = new SessionFixture([server.endpoint], { restored: asRead(fixture.log) });
    for (const delivered of [0, 1, 777, whole.body.length - 3, whole.body.length]) {
      const rest = await adopter.send({ ...request, headers: { authorization: `Bearer ${adopter.token}` }, delivered });
      expect(rest.body).toEqual(whole.body.subarray(delivered));
    }
    expect(server.seen.length).toBe(1);
    expect(adopter.builder.build()).toEqual(fixture.builder.build());
  });

  it('asks once for one key, however often and from wherever it is sent', async () => {
    const gate = Promise.withResolvers<void>();
    const server = await upstream(async (request, response) => {
      await gate.promise;
      sendJson(response, completion(request, 'once'));
    });
    const fixture = new SessionFixture([server.endpoint]);
    const call = fixture.call({ messages: [task] });
    const both = [fixture.send(call), fixture.send(call)];
    gate.resolve();
    const answers = await Promise.all(both);
    answers.push(await fixture.send(call));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect([server.seen.length, fixture.log.length]).toEqual([1, 1]);
    const other = await fixture.send({ ...call, body: JSON.stringify({ messages: [user('else')] }) });
    expect([other.status, other.json.error?.code]).toEqual([409, 'idempotency_key_reused']);
  });

  it('gives an answer that the harness gave up to the equal request that follows', async () => {
    const gate = Promise.withResolvers<void>();
    const server = await upstream(async (request, response) => {
      await gate.promise;
      sendJson(response, completion(request, 'late'));
    }, says('another'));
    const fixture = new SessionFixture([server.endpoint]);
    const gone = new AbortController();
    const first = fixture.ask({ messages: [task] }, { abandoned: gone.signal });
    gone.abort();
    const second = fixture.ask({ messages: [task], metadata: { attempt: 2 } });
    gate.resolve();
    expect((await first).content).toBe('late');
    expect((await second).content).toBe('late');
    // A third is a new question: the harness got that answer.
    expect((await fixture.ask({ messages: [task] })).content).toBe('another');
    expect(fixture.log.length).toBe(2);
  });

  it('never answers what could not be recorded', async () => {
    const server = await upstream(says('ls'));
    const fixture = new SessionFixture([server.endpoint]);
    fixture.onRecord = () => {
      throw new Error('the broker is away');
    };
    const answer = await fixture.ask({ messages: [task] });
    expect([answer.status, answer.json.error?.code]).toEqual([502, 'gateway_record']);
    expect(answer.text).not.toContain('ls');
    expect(fixture.fatal.map(({ code }) => code)).toEqual(['GATEWAY_RECORD']);
    expect(fixture.session.failure?.class).toBe('INFRA');
  });

  it.each([
    ['model calls', { model_calls: 1 }, 'MODEL_CALLS', 'model_calls_exhausted'],
    ['sampled tokens', { sampled_tokens: 2 }, 'TOKENS', 'token_budget_exhausted'],
    ['context', { context_tokens: 17 }, 'CONTEXT', 'context_length_exceeded'],
  ])('ends a rollout that used its %s', async (_name, limits, stop, code) => {
    const server = await upstream(says('ls'));
    const fixture = new SessionFixture([server.endpoint], { limits });
    expect((await fixture.ask({ messages: [task] })).status).toBe(200);
    const next = [task, assistant('ls'), user('README')];
    const refused = await fixture.ask({ messages: next });
    expect([refused.status, refused.json.error?.code, refused.json.error?.type]).toEqual([
      400,
      code,
      'invalid_request_error',
    ]);
    expect(fixture.session.stopReason).toBe(stop);
    expect([fixture.log.length, server.seen.length]).toEqual([1, 1]);
  });

  it('lets a harness go on that makes its context shorter', async () => {
    const server = await upstream(says('ls'));
    const fixture = new SessionFixture([server.endpoint], { limits: { context_tokens: 17 } });
    await fixture.ask({ messages: [task] });
    await fixture.ask({ messages: [task, assistant('ls'), user('README')] });
    expect(fixture.session.stopReason).toBe('CONTEXT');
    expect((await fixture.ask({ messages: [user('short')] })).status).toBe(200);
    expect(fixture.session.stopReason).toBeNull();
  });

  it('refuses calls after the wall budget and clamps what a call may sample', async () => {
    const server = await upstream(says('ls'));
    const fixture = new SessionFixture([server.endpoint], { limits: { sampled_tokens: 7 } });
    await fixture.ask({ messages: [task] });
    expect(server.seen[0]?.body['max_tokens']).toBe(7);
    fixture.session.startClock(Date.now() - 1);
    const late = await fixture.ask({ messages: [task] });
    expect([late.status, late.json.error?.code]).toEqual([400, 'wall_clock_exhausted']);
  });

  it('holds calls while a weight update is pausing the policy, and counts the new version', async () => {
    const server = await upstream(says('ls', { top: { policy_version: null } }));
    const fixture = new SessionFixture([server.endpoint]);
    const event = { run_id: 'run', endpoints: [], occurred_at: Date.now() };
    fixture.versions.apply({ ...event, phase: 'PAUSING', version: 5 });
    const held = fixture.ask({ messages: [task] });
    // A run that is not paused, asked later, is served meanwhile.
    await new SessionFixture([server.endpoint]).ask({ messages: [task] });
    expect(server.seen.length).toBe(1);
    fixture.versions.apply({ ...event, phase: 'READY', version: 5, endpoints: [server.endpoint] });
    expect((await held).status).toBe(200);
    expect(fixture.log[0]?.version_runs).toEqual([{ version: 5, length: 2 }]);
  });

  it('counts a call that spans a weight update as the older version', async () => {
    const started = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const server = await upstream(async (request, response) => {
      started.resolve();
      await gate.promise;
      sendJson(response, completion(request, 'ls', { top: { policy_version: null } }));
    });
    const fixture = new SessionFixture([server.endpoint]);
    const asked = fixture.ask({ messages: [task] });
    await started.promise;
    fixture.versions.apply({ run_id: 'run', endpoints: [], occurred_at: 0, phase: 'READY', version: 9 });
    gate.resolve();
    await asked;
    expect(fixture.log[0]?.version_runs).toEqual([{ version: 2, length: 2 }]);
  });

  it('refuses late calls and cancels those under way when it is closed', async () => {
    const started = Promise.withResolvers<void>();
    const server = await upstream(() => started.resolve());
    const fixture = new SessionFixture([server.endpoint]);
    const waiting = fixture.ask({ messages: [task] });
    await started.promise;
    await fixture.session.close();
    expect((await waiting).status).toBe(409);
    expect((await fixture.ask({ messages: [task] })).json.error?.code).toBe('rollout_ended');
    expect(fixture.log).toEqual([]);
  });

  it('serves calls that run at the same time, each recorded against what was there', async () => {
    const server = await upstream((request, response) => {
      const messages = request.body['messages'] as { content: string }[];
      sendJson(response, completion(request, `re ${messages.at(-1)?.content}`));
    });
    const fixture = new SessionFixture([server.endpoint]);
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map((text) => fixture.ask({ messages: [user(text)] })));
    expect(answers.map(({ content }) => content)).toEqual(['re a', 're b', 're c', 're d']);
    expect(fixture.log.map(({ call_no }) => call_no)).toEqual([0, 1, 2, 3]);
    expect(fixture.builder.build().counts).toMatchObject({ model_calls: 4, samples: 4 });
  });
});

interface StreamChunk {
  readonly choices: {
    readonly delta: { content?: string; tool_calls?: { function: { arguments?: string } }[] };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: { completion_tokens: number };
}
