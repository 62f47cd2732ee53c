import { afterEach, describe, expect, it } from 'vitest';
import { completion, ScriptedUpstream, sendJson, type Script } from '../testing/scripted-upstream.ts';
import { SessionFixture, user } from '../testing/session-fixture.ts';

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
const refuses =
  (status: number, message = 'no', headers = {}): Script =>
  (_request, response) =>
    sendJson(response, { error: { message } }, status, headers);
const cuts: Script = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' });
  response.write('{"choices":', () => response.destroy());
};
const hangs: Script = () => undefined;
const babbles: Script = (_request, response) => void response.writeHead(200).end('<html>hello</html>');
const messages = [user('fix it')];

describe('upstream faults', () => {
  it.each<[string, Script]>([
    ['429', refuses(429, 'slow down', { 'retry-after': '0' })],
    ['500', refuses(500)],
    ['503', refuses(503)],
    ['a cut connection', cuts],
    ['a closed connection', (_request, response) => void response.destroy()],
    ['an answer that is not JSON', babbles],
    ['an answer without choices', (_request, response) => sendJson(response, {})],
    ['an answer aborted for a weight update', says('half', { choice: { finish_reason: 'abort' } })],
  ])('absorbs %s', async (_name, fault) => {
    const server = await upstream(fault, fault, says('ls'));
    const fixture = new SessionFixture([server.endpoint]);
    const answer = await fixture.ask({ messages });
    expect([answer.status, answer.content]).toEqual([200, 'ls']);
    expect(fixture.log.map(({ upstream_attempts, failure }) => [upstream_attempts, failure])).toEqual([[3, null]]);
  });

  it.each<[string, string, number, Script, number]>([
    ['nothing but 500', 'LLM_UNAVAILABLE', 502, refuses(500), 4],
    ['nothing but 429', 'LLM_UNAVAILABLE', 502, refuses(429), 4],
    ['silence', 'LLM_TIMEOUT', 504, hangs, 2],
    ['nothing but babble', 'LLM_BAD_ANSWER', 502, babbles, 4],
  ])('ends the rollout as an infrastructure failure after %s', async (_name, code, status, fault, tries) => {
    const server = await upstream(fault);
    const fixture = new SessionFixture([server.endpoint], { timeoutMs: 100 });
    const answer = await fixture.ask({ messages });
    expect([answer.status, answer.json.error?.type]).toEqual([status, 'server_error']);
    expect(server.seen.length).toBe(tries);
    expect(fixture.fatal.map((failure) => [failure.class, failure.code])).toEqual([['INFRA', code]]);
    expect(fixture.log[0]).toMatchObject({ http_status: status, upstream_attempts: tries, failure: { code } });
    const later = await fixture.ask({ messages: [user('else')] });
    expect([later.status, later.json.error?.code]).toEqual([502, 'rollout_failed']);
    expect(server.seen.length).toBe(tries);
  });

  it.each<[string, Script]>([
    ['prompt ids', says('ls', { top: { prompt_token_ids: null } })],
    ['sampled ids', says('ls', { choice: { token_ids: null } })],
    ['log-probs', says('ls', { choice: { logprobs: null } })],
    ['one log-prob', says('ls', { choice: { logprobs: { content: [{ logprob: -1 }] } } })],
    ['finite log-probs', says('l', { choice: { logprobs: { content: [{ logprob: null }] } } })],
    ['any sampled id', says('ls', { choice: { token_ids: [], logprobs: { content: [] } } })],
    ['whole ids', says('ls', { choice: { token_ids: [1, -2] } })],
  ])('never trains on an answer without %s', async (_name, script) => {
    const server = await upstream(script);
    const fixture = new SessionFixture([server.endpoint]);
    expect((await fixture.ask({ messages })).status).toBe(502);
    expect(fixture.fatal).toMatchObject([
      { class: 'INFRA', code: 'GATEWAY_CAPTURE_INCOMPLETE', retryable: false, stage: 'model' },
    ]);
    expect(server.seen.length).toBe(1);
    expect(fixture.builder.build().body.samples).toEqual([]);
  });

  it('takes prompt ids from the choice too', async () => {
    const server = await upstream(
      says('ls', { top: { prompt_token_ids: null }, choice: { prompt_token_ids: [1, 2] } }),
    );
    const fixture = new SessionFixture([server.endpoint]);
    expect((await fixture.ask({ messages })).status).toBe(200);
    expect(fixture.log[0]?.prompt_suffix_ids).toEqual(Int32Array.of(1, 2));
  });

  it('tells a context overflow from a refusal; neither is infrastructure', async () => {
    const long = "This model's maximum context length is 4096 tokens";
    const server = await upstream(refuses(400, long), refuses(400, 'unknown tool schema'));
    const fixture = new SessionFixture([server.endpoint]);
    const overflow = await fixture.ask({ messages });
    expect([overflow.status, overflow.json.error?.code]).toEqual([400, 'context_length_exceeded']);
    expect(fixture.session.stopReason).toBe('CONTEXT');
    const refused = await fixture.ask({ messages });
    expect(refused.json.error?.message).toContain('unknown tool schema');
    expect(fixture.log.map(({ failure }) => failure?.class)).toEqual(['BUDGET', 'POLICY']);
    expect(fixture.fatal).toEqual([]);
  });

  it('moves to another server of the pool when one is down, and stays with one otherwise', async () => {
    const [one, two] = await Promise.all([upstream(says('1')), upstream(says('2'))]);
    const steady = new SessionFixture([one.endpoint, two.endpoint]);
    const first = await steady.ask({ messages });
    const second = await steady.ask({ messages: [user('else')] });
    expect(second.content).toBe(first.content);
    const [down, up] = first.content === '1' ? [one, two] : [two, one];
    const endpoints = [one.endpoint, two.endpoint];
    await down.stop();
    const fixture = new SessionFixture(endpoints);
    expect((await fixture.ask({ messages })).content).toBe(up === one ? '1' : '2');
  });
});

describe('requests of the harness', () => {
  const fixture = (): SessionFixture => new SessionFixture(['http://127.0.0.1:9/v1']);

  it.each<[string, unknown]>([
    ['no JSON', '{'],
    ['no object', '[]'],
    ['no messages', {}],
    ['an empty list', { messages: [] }],
    ['messages without role', { messages: [{ content: 'x' }] }],
    ['several answers', { messages, n: 2 }],
    ['tools that are none', { messages, tools: [1] }],
    ['a bad limit', { messages, max_tokens: 0 }],
  ])('answers 400 to %s', async (_name, body) => {
    const answer = await fixture().ask(body as object);
    expect([answer.status, answer.json.error?.type]).toEqual([400, 'invalid_request_error']);
  });

  it('answers 404 and 405 in the error shape, and lists the model', async () => {
    const made = fixture();
    const call = made.call('');
    const base = call.path.replace('/v1/chat/completions', '');
    const unknown = await made.send({ ...call, path: `${base}/v1/embeddings` });
    expect([unknown.status, unknown.json.error?.code]).toEqual([404, 'unknown_url']);
    expect((await made.send({ ...call, method: 'GET' })).status).toBe(405);
    const models = await made.send({ ...call, method: 'GET', path: `${base}/v1/models?limit=5` });
    expect(JSON.parse(models.text)).toMatchObject({ data: [{ id: 'policy' }] });
    expect((await made.send({ ...call, method: 'GET', path: '/v1/models' })).status).toBe(200);
  });

  it('takes its own attempt’s token alone', async () => {
    const made = fixture();
    const call = made.call({ messages });
    const issue = (attemptId: string, role: 'policy' | 'judge', expiresAt: number): string =>
      made.capabilities.issue({ attemptId, role, expiresAt });
    const later = Date.now() + 1_000;
    const own = 'run/task/0/r1/a0';
    const status = async (headers: Record<string, string>, path = call.path): Promise<number> =>
      (await made.send({ ...call, headers, path })).status;
    expect(await status({})).toBe(401);
    expect(await status({ authorization: 'Bearer nonsense' })).toBe(401);
    expect(await status({ 'x-api-key': `${made.token}x` })).toBe(401);
    expect(await status({ 'x-api-key': issue(own, 'policy', Date.now() - 1) })).toBe(401);
    expect(await status({ 'x-api-key': issue('run/task/0/r2/a0', 'policy', later) })).toBe(403);
    expect(await status({ 'x-api-key': issue(own, 'judge', later) })).toBe(403);
    const models = call.path.replace('chat/completions', 'models');
    expect((await made.send({ ...call, method: 'GET', path: models, headers: { 'api-key': made.token } })).status).toBe(
      200,
    );
    const foreign = models.replace(/^\/a\/[^/]+/, '/a/c29tZXRoaW5n');
    expect((await made.send({ ...call, method: 'GET', path: foreign })).status).toBe(403);
  });
});
