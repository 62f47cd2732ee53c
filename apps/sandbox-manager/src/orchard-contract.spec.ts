import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ManagerProcess } from './testing/manager-process.ts';
import { raw, type RawAnswer, type RawOptions } from './testing/raw-http.ts';

// Real processes on a machine that may be busy with other suites.
vi.setConfig({ testTimeout: 120_000 });

const manager = new ManagerProcess();
const call = (method: string, path: string, options?: RawOptions): Promise<RawAnswer> =>
  raw(manager.url, method, path, manager.key, options);

beforeAll(async () => {
  await manager.start();
  await call('POST', '/sandboxes', { json: { image: 'python:3.11-slim', sandbox_id: 'box' } });
  await call('GET', '/sandboxes/box/wait?timeout=60');
}, 240_000);

afterAll(() => manager.dispose());

const exec = async (body: Record<string, unknown>): Promise<Record<string, unknown>> =>
  (await call('POST', '/sandboxes/box/exec', { json: { wait: true, ...body } })).json as Record<string, unknown>;

const issuesOf = (answer: RawAnswer): unknown =>
  (answer.json as { detail: { type: string; loc: unknown; msg: string; input: unknown }[] }).detail.map(
    ({ type, loc, msg, input }) => [type, loc, msg, input],
  );

describe('transport', () => {
  it("answers compact JSON with exactly the contract's headers", async () => {
    const answer = await call('GET', '/health', { key: null });
    expect(answer.text).toBe('{"status":"healthy"}');
    const { date: _date, connection: _connection, 'keep-alive': _keepAlive, ...headers } = answer.headers;
    expect(headers).toEqual({
      'content-type': 'application/json',
      'content-length': '20',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
    });
    expect((await call('GET', '/', { key: null })).json).toEqual({
      service: 'sandbox-orchestrator',
      version: '0.1.0',
      status: 'running',
    });
  });

  it('looks at the key after the syntax and before the fields', async () => {
    const missing = await call('GET', '/sandboxes/box', { key: null });
    expect([missing.status, missing.json]).toEqual([
      401,
      { detail: 'Missing API key. Please provide X-API-Key header.' },
    ]);
    expect((await call('GET', '/sandboxes/box', { key: '' })).status).toBe(401);
    const wrong = await call('GET', '/resources', { key: 'no' });
    expect([wrong.status, wrong.json]).toEqual([403, { detail: 'Invalid API key' }]);
    const broken = { body: '{', headers: { 'content-type': 'application/json' } };
    expect((await call('POST', '/sandboxes', { ...broken, key: null })).status).toBe(422);
    expect((await call('POST', '/sandboxes', { json: {}, key: 'no' })).status).toBe(403);
    expect((await call('GET', '/sandboxes/box/wait?timeout=abc', { key: null })).status).toBe(401);
    expect((await call('GET', '/sandboxes/none/wait?timeout=abc')).status).toBe(422);
  });

  it.each([
    ['GET', '/sandboxes', 'POST'],
    ['PATCH', '/sandboxes/box', 'DELETE'],
    ['GET', '/sandboxes/box/exec', 'POST'],
    ['POST', '/sandboxes/box/wait', 'GET'],
    ['POST', '/sandboxes/box/files/list', 'GET'],
    ['PUT', '/jobs/j', 'GET'],
    ['OPTIONS', '/health', 'GET'],
    ['HEAD', '/health', 'GET'],
  ])('refuses %s %s with Allow: %s', async (method, path, allow) => {
    const answer = await call(method, path, { key: null });
    expect([answer.status, answer.headers['allow']]).toEqual([405, allow]);
    if (method !== 'HEAD') expect(answer.json).toEqual({ detail: 'Method Not Allowed' });
  });

  it('redirects trailing slashes and knows no other routes', async () => {
    const answer = await call('POST', '/sandboxes/?a=b', { key: null });
    expect([answer.status, answer.headers['location'], answer.text]).toEqual([307, `${manager.url}/sandboxes?a=b`, '']);
    expect(answer.headers['content-type']).toBeUndefined();
    expect((await call('GET', '/sandboxes/box/exec/pty', { key: null })).json).toEqual({ detail: 'Not Found' });
  });

  it('takes large bodies', async () => {
    const content = Buffer.alloc(24 * 1024 * 1024, 'x').toString('base64');
    const answer = await call('POST', '/sandboxes/box/files', { json: { path: '/tmp/large', content } });
    expect(answer.json).toEqual({ success: true, path: '/tmp/large', size: 24 * 1024 * 1024 });
  });
});

describe('validation', () => {
  it.each([
    [{}, [['missing', ['body', 'image'], 'Field required', {}]]],
    [
      { image: null, cpu: 4, block_network: null },
      [
        ['string_type', ['body', 'image'], 'Input should be a valid string', null],
        ['bool_type', ['body', 'block_network'], 'Input should be a valid boolean', null],
        ['string_type', ['body', 'cpu'], 'Input should be a valid string', 4],
      ],
    ],
    [
      { image: 'x', timeout: 'abc', block_network: 'maybe' },
      [
        [
          'bool_parsing',
          ['body', 'block_network'],
          'Input should be a valid boolean, unable to interpret input',
          'maybe',
        ],
        [
          'int_parsing',
          ['body', 'timeout'],
          'Input should be a valid integer, unable to parse string as an integer',
          'abc',
        ],
      ],
    ],
  ])('lists what is wrong with a create of %j', async (json, issues) => {
    const answer = await call('POST', '/sandboxes', { json });
    expect([answer.status, issuesOf(answer)]).toEqual([422, issues]);
  });

  it.each([
    [
      { command: 5 },
      [
        ['string_type', ['body', 'command', 'str'], 'Input should be a valid string', 5],
        ['list_type', ['body', 'command', 'list[str]'], 'Input should be a valid list', 5],
      ],
    ],
    [
      { command: [1], env: { A: 1 } },
      [
        ['string_type', ['body', 'command', 'str'], 'Input should be a valid string', [1]],
        ['string_type', ['body', 'command', 'list[str]', 0], 'Input should be a valid string', 1],
        ['string_type', ['body', 'env', 'A'], 'Input should be a valid string', 1],
      ],
    ],
    [
      { command: 'x', timeout_seconds: 2.5 },
      [
        [
          'int_from_float',
          ['body', 'timeout_seconds'],
          'Input should be a valid integer, got a number with a fractional part',
          2.5,
        ],
      ],
    ],
  ])('lists what is wrong with an exec of %j', async (json, issues) => {
    expect(issuesOf(await call('POST', '/sandboxes/box/exec', { json }))).toEqual(issues);
  });

  it('tells a missing body, an array and a text from an object', async () => {
    const json = { headers: { 'content-type': 'application/json' } };
    expect(issuesOf(await call('POST', '/sandboxes', json))).toEqual([['missing', ['body'], 'Field required', null]]);
    const kind = 'Input should be a valid dictionary or object to extract fields from';
    expect(issuesOf(await call('POST', '/sandboxes', { json: [1] }))).toEqual([
      ['model_attributes_type', ['body'], kind, [1]],
    ]);
    const text = { body: '{"image":"x"}', headers: { 'content-type': 'text/plain' } };
    expect(issuesOf(await call('POST', '/sandboxes', text))).toEqual([
      ['model_attributes_type', ['body'], kind, '{"image":"x"}'],
    ]);
    expect(issuesOf(await call('GET', '/sandboxes/box/files'))).toEqual([
      ['missing', ['query', 'path'], 'Field required', null],
    ]);
  });

  it.each([
    ['YES', true],
    ['off', false],
    [1, true],
    [0, false],
  ])('reads %j as a boolean', async (given, read) => {
    const id = `bool-${String(given).toLowerCase()}`;
    const answer = await call('POST', '/sandboxes', {
      json: { image: '', sandbox_id: id, block_network: given, more: 1 },
    });
    expect(answer.json).toMatchObject({ block_network: read, image: '' });
    await call('DELETE', `/sandboxes/${id}`);
  });

  it.each([
    [' 30 ', 30],
    ['+1_000', 1000],
    ['30.0', 30],
    [2.0, 2],
    [true, 1],
    [-5, -5],
    [0, 3600],
    [null, 3600],
  ])('reads %j as an integer', async (given, read) => {
    const answer = await call('POST', '/sandboxes', { json: { image: 'x', timeout: given } });
    expect(answer.json).toMatchObject({ timeout: read });
    await call('DELETE', `/sandboxes/${(answer.json as { sandbox_id: string }).sandbox_id}`);
  });
});

describe('sandboxes', () => {
  it('echoes a create with its defaults', async () => {
    const answer = await call('POST', '/sandboxes', { json: { image: 'i', sandbox_id: '' } });
    const body = answer.json as Record<string, unknown>;
    expect([answer.status, body]).toEqual([
      200,
      {
        sandbox_id: expect.stringMatching(/^[0-9a-f]{8}$/) as unknown,
        namespace: 'sandbox-pods',
        image: 'i',
        block_network: true,
        cpu: '4',
        memory: '16Gi',
        timeout: 3600,
        status: 'pending',
      },
    ]);
    expect((await call('DELETE', `/sandboxes/${String(body['sandbox_id'])}`)).json).toEqual({
      status: 'deleted',
      sandbox_id: body['sandbox_id'],
    });
  });

  it('creates once per Idempotency-Key', async () => {
    const [one, two] = await Promise.all(
      [1, 2].map(() =>
        call('POST', '/sandboxes', { json: { image: 'i' }, headers: { 'idempotency-key': 'create-1' } }),
      ),
    );
    expect(one?.json).toEqual(two?.json);
    await call('DELETE', `/sandboxes/${(one?.json as { sandbox_id: string }).sandbox_id}`);
  });

  it('describes itself without a key', async () => {
    const document = await call('GET', '/openapi.json', { key: null });
    expect(document.json).toMatchObject({ openapi: '3.1.0', info: { title: 'Sandbox Orchestrator' } });
    for (const path of ['/docs', '/redoc'])
      expect((await call('GET', path, { key: null })).headers['content-type']).toMatch(/^text\/html/);
  });

  it('refuses ids that are none, and another sandbox under the same id', async () => {
    expect((await call('POST', '/sandboxes', { json: { image: 'x', sandbox_id: 'Bad_ID' } })).status).toBe(422);
    expect((await call('POST', '/sandboxes', { json: { image: 'x', sandbox_id: 'a'.repeat(64) } })).status).toBe(422);
    expect((await call('POST', '/sandboxes', { json: { image: 'other', sandbox_id: 'box' } })).status).toBe(409);
  });

  it('shows a ready sandbox', async () => {
    expect((await call('GET', '/sandboxes/box')).json).toEqual({
      sandbox_id: 'box',
      namespace: 'sandbox-pods',
      image: 'python:3.11-slim',
      pod_name: 'sandbox-box',
      block_network: true,
      cpu: '4',
      memory: '16Gi',
      created_at: expect.any(Number) as unknown,
      ready: true,
      status: 'ready',
      status_message: '',
    });
    expect((await call('POST', '/sandboxes/box/heartbeat')).json).toEqual({ status: 'ok', sandbox_id: 'box' });
  });

  it('knows none of the others', async () => {
    const none = { detail: 'Sandbox nope not found' };
    for (const [method, path] of [
      ['GET', '/sandboxes/nope'],
      ['GET', '/sandboxes/nope/wait'],
      ['POST', '/sandboxes/nope/heartbeat'],
      ['GET', '/sandboxes/nope/files?path=/x'],
    ] as const)
      expect([path, (await call(method, path)).json]).toEqual([path, none]);
    expect((await call('POST', '/sandboxes/nope/exec', { json: { command: 'x' } })).json).toEqual(none);
    expect((await call('DELETE', '/sandboxes/nope')).json).toEqual({ status: 'deleted', sandbox_id: 'nope' });
  });

  it('tells a waiter of a delete', async () => {
    // A launch that cannot end at once: its wait is still open when the delete comes, or it is ready before.
    await call('POST', '/sandboxes', { json: { image: 'x', sandbox_id: 'brief' } });
    const waiting = call('GET', '/sandboxes/brief/wait?timeout=30');
    await call('DELETE', '/sandboxes/brief');
    const { status, json } = await waiting;
    expect(status).toBe(200);
    expect(['not_found', 'ready']).toContain((json as { status: string }).status);
  });

  it('adds up resources', async () => {
    const { json } = await call('GET', '/resources');
    expect(json).toMatchObject({
      status: 'ok',
      sandbox_pods: [
        {
          name: 'sandbox-box',
          namespace: 'sandbox-pods',
          phase: 'Running',
          cpu_request: 4,
          memory_request_bytes: 2 ** 34,
        },
      ],
      total_requested: { cpu: 4, memory_bytes: 2 ** 34 },
    });
  });
});

describe('exec', () => {
  const times = {
    created_at: expect.any(Number) as unknown,
    started_at: expect.any(Number) as unknown,
    completed_at: expect.any(Number) as unknown,
  };

  it.each([
    [{ command: 'echo hi' }, { status: 'succeeded', exit_code: 0, stdout: 'hi\n', stderr: '', error: null }],
    [{ command: 'exit 7' }, { status: 'failed', exit_code: 7, stdout: '', stderr: '', error: null }],
    [{ command: 'kill -9 $$' }, { status: 'failed', exit_code: -9, stdout: '', stderr: '', error: null }],
    [
      { command: 'nosuchcmd' },
      {
        status: 'failed',
        exit_code: 127,
        stdout: '',
        stderr: 'bash: line 1: nosuchcmd: command not found\n',
        error: null,
      },
    ],
    [
      { command: 'echo part; sleep 60', timeout_seconds: 1 },
      {
        status: 'failed',
        exit_code: 124,
        stdout: 'part\n',
        stderr: '\nCommand timed out after 1s and was killed',
        error: 'Command timed out after 1s',
      },
    ],
    [
      { command: 'exit 124' },
      { status: 'failed', exit_code: 124, stdout: '', stderr: '', error: 'Command timed out after 300s' },
    ],
    [{ command: '' }, { status: 'succeeded', exit_code: 0, stdout: '', stderr: '', error: null }],
    [{ command: [] }, { status: 'succeeded', exit_code: 0, stdout: '', stderr: '', error: null }],
    [
      { command: "printf 'a\\xffb\\r\\n'" },
      { status: 'succeeded', exit_code: 0, stdout: 'a\ufffdb\r\n', stderr: '', error: null },
    ],
    [
      { command: 'pwd', cwd: '/no/such' },
      { status: 'succeeded', exit_code: 0, stdout: '/\n', stderr: '', error: null },
    ],
    [
      { command: 'echo "$A-$B"', env: { A: '1' } },
      { status: 'succeeded', exit_code: 0, stdout: '1-\n', stderr: '', error: null },
    ],
    [
      { command: 'echo err >&2', login_shell: true },
      { status: 'succeeded', exit_code: 0, stdout: '', stderr: 'err', error: null },
    ],
  ])('runs %j', async (body, expected) => {
    const { command } = body;
    expect(await exec(body)).toEqual({
      job_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
      sandbox_id: 'box',
      command: typeof command === 'string' ? command : command.join(' '),
      ...times,
      ...expected,
    });
  });

  it('joins lists by spaces, and keeps argv exact', async () => {
    expect(await exec({ command: ['echo', 'a  b;echo c'] })).toMatchObject({
      stdout: 'a b\nc\n',
      command: 'echo a  b;echo c',
    });
    expect(await exec({ argv: ['echo', 'a  b;echo c'] })).toMatchObject({ stdout: 'a  b;echo c\n' });
  });

  it('runs commands longer than one argument may be', async () => {
    for (const length of [131_071, 131_072, 200 * 1024]) {
      const command = `echo ok #${'x'.repeat(length - 9)}`;
      expect(await exec({ command })).toMatchObject({ stdout: 'ok\n', exit_code: 0 });
    }
  });

  it('serialises by default and queues what waits', async () => {
    const slow = await call('POST', '/sandboxes/box/exec', { json: { command: 'sleep 0.7; echo slow' } });
    const next = await call('POST', '/sandboxes/box/exec', { json: { command: 'echo next' } });
    expect(next.text).toMatch(/^\{"job_id":"[0-9a-f-]{36}","status":"queued"\}$/);
    const { job_id: nextId } = next.json as { job_id: string };
    expect((await call('GET', `/jobs/${nextId}`)).json).toMatchObject({ status: 'queued', started_at: null });
    expect((await call('GET', `/jobs/${nextId}/wait?timeout=0`)).json).toMatchObject({ status: 'queued' });
    const parallel = await exec({ command: 'echo beside', parallel: true });
    expect(parallel).toMatchObject({ stdout: 'beside\n' });
    expect((await call('GET', `/jobs/${nextId}/wait`)).json).toMatchObject({ status: 'succeeded', stdout: 'next\n' });
    const { job_id: slowId } = slow.json as { job_id: string };
    expect((await call('GET', `/jobs/${slowId}`)).json).toMatchObject({ stdout: 'slow\n' });
    expect((await call('GET', '/jobs/nope/wait?timeout=-1')).json).toEqual({ detail: 'Job nope not found' });
  });

  it('gives an undelivered result to the next identical request, a delivered one to none', async () => {
    const body = { command: 'echo run >> /tmp/count; sleep 2; wc -l < /tmp/count', wait: true };
    await new Promise<void>((resolve) => {
      const text = JSON.stringify(body);
      const lost = request(new URL('/sandboxes/box/exec', manager.url), {
        method: 'POST',
        headers: { 'x-api-key': manager.key, 'content-type': 'application/json', 'content-length': text.length },
      });
      lost.once('error', () => undefined);
      lost.end(text);
      setTimeout(() => lost.destroy(), 300);
      // Well before the command ends, and well after the manager has seen that nobody waits for it.
      setTimeout(resolve, 700);
    });
    expect(await exec(body)).toMatchObject({ stdout: '1\n' });
    expect(await exec(body)).toMatchObject({ stdout: '2\n' });
  });

  it('runs once per Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'k1' };
    const json = { command: 'echo run >> /tmp/keyed; wc -l < /tmp/keyed', wait: true };
    const [one, two] = await Promise.all([
      call('POST', '/sandboxes/box/exec', { json, headers }),
      call('POST', '/sandboxes/box/exec', { json, headers }),
    ]);
    expect(one?.json).toMatchObject({ stdout: '1\n' });
    expect(two?.json).toEqual(one?.json);
  });
});

describe('files and patches', () => {
  it('writes, reads and lists', async () => {
    const written = await call('POST', '/sandboxes/box/files', { json: { path: 'sub/f.txt', content: 'aGV sbG8=\n' } });
    expect(written.json).toEqual({ success: true, path: 'sub/f.txt', size: 5 });
    expect((await call('GET', '/sandboxes/box/files?path=/workspace/sub/f.txt')).json).toEqual({
      path: '/workspace/sub/f.txt',
      content: 'aGVsbG8=',
      size: 5,
    });
    expect((await call('GET', '/sandboxes/box/files/list?path=/workspace/sub')).json).toEqual({
      path: '/workspace/sub',
      files: [
        {
          name: 'f.txt',
          type: 'file',
          size: 5,
          modified: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/) as unknown,
        },
      ],
    });
  });

  it.each([
    ['/sandboxes/box/files?path=/nope', 404, { detail: 'File not found: /nope' }],
    ['/sandboxes/box/files?path=/tmp', 400, { detail: 'Not a file: /tmp' }],
    ['/sandboxes/box/files/list?path=/nope', 404, { detail: 'Path not found: /nope' }],
    ['/sandboxes/box/files/list?path=/etc/passwd', 400, { detail: 'Not a directory: /etc/passwd' }],
  ])('refuses GET %s with %i', async (path, status, json) => {
    const answer = await call('GET', path);
    expect([answer.status, answer.json]).toEqual([status, json]);
  });

  it('refuses broken base64', async () => {
    const answer = await call('POST', '/sandboxes/box/files', { json: { path: '/tmp/x', content: 'abc' } });
    expect([answer.status, answer.json]).toEqual([500, { detail: 'Incorrect padding' }]);
  });

  it('applies patches, and never runs what is in them', async () => {
    await exec({ command: 'cd /workspace && git init -q . && printf "one\\n" > p.txt' });
    const patch = 'diff --git a/p.txt b/p.txt\n--- a/p.txt\n+++ b/p.txt\n@@ -1 +1 @@\n-one\n+two\n';
    expect((await call('POST', '/sandboxes/box/apply_patch', { json: { patch } })).json).toEqual({
      success: true,
      stdout: '',
      stderr: '',
      exit_code: 0,
      error: null,
    });
    expect(await exec({ command: 'cat /workspace/p.txt' })).toMatchObject({ stdout: 'two\n' });
    const bad = await call('POST', '/sandboxes/box/apply_patch', { json: { patch: 'PATCH_EOF\ntouch /tmp/owned\n' } });
    expect(bad.json).toMatchObject({ success: false, exit_code: 128, error: null });
    expect(await exec({ command: 'ls /tmp/owned' })).toMatchObject({ exit_code: 2 });
  });
});

describe('a sandbox that has died', () => {
  it('answers 410, not 404', async () => {
    await call('POST', '/sandboxes', { json: { image: 'x', sandbox_id: 'mortal' } });
    await call('GET', '/sandboxes/mortal/wait');
    const { killProcesses } = await import('./drivers/local/processes.ts');
    await killProcesses('--sandbox mortal --instance', 10_000);
    await expect
      .poll(async () => ((await call('GET', '/sandboxes/mortal')).json as { status: string }).status, {
        timeout: 20_000,
      })
      .toBe('failed');
    const answer = await call('POST', '/sandboxes/mortal/exec', { json: { command: 'true', wait: true } });
    expect([answer.status, answer.json]).toMatchObject([410, { code: 'SANDBOX_LOST' }]);
    expect((await call('GET', '/sandboxes/mortal')).json).toMatchObject({ ready: true, status: 'failed' });
    await call('DELETE', '/sandboxes/mortal');
  });
});
