import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { SandboxClient } from './client.ts';
import { ExecChannelError, SandboxLostError, SandboxManagerUnavailableError } from './errors.ts';

let server: Server | undefined;
let client: SandboxClient | undefined;

afterEach(async () => {
  client?.close();
  server?.closeAllConnections();
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
  server = undefined;
});

type Handler = (request: IncomingMessage, body: string, response: ServerResponse) => void;

/** A manager that behaves as the test says. */
async function against(handler: Handler, retryWindowMs = 10_000): Promise<SandboxClient> {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => handler(request, Buffer.concat(chunks).toString(), response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  client = new SandboxClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: 'k', retryWindowMs });
  return client;
}

const json = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};

const output = { head_base64: Buffer.from('hi').toString('base64'), tail_base64: '', bytes: 2, truncated: false };
const job = (state: string): unknown => ({
  job_id: 'j',
  sandbox_id: 's',
  error: null,
  detail: { state, exit_code: 0, signal: null, started_at_ms: 1, ended_at_ms: 2, stdout: output, stderr: output },
});

describe('SandboxClient', () => {
  it('sends a command again under the same key when its answer is lost, wherever it was cut', async () => {
    const keys: unknown[] = [];
    const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"job_id":"j"}';
    const cuts = [0, 10, 30, answer.length - 3];
    const used = await against((request, _body, response) => {
      if (request.url?.startsWith('/jobs/')) {
        json(response, 200, job('exited'));
        return;
      }
      keys.push(request.headers['idempotency-key']);
      const cut = cuts[keys.length - 1];
      if (cut === undefined) json(response, 200, { job_id: 'j' });
      else request.socket.end(answer.slice(0, cut));
    });
    expect((await used.exec('s', { command: 'x', idempotencyKey: 'mine' })).stdout.text).toBe('hi');
    expect(keys).toEqual(['mine', 'mine', 'mine', 'mine', 'mine']);
  });

  it('waits for a job over as many polls as it takes', async () => {
    let polls = 0;
    const used = await against((request, _body, response) => {
      if (request.method === 'POST') json(response, 200, { job_id: 'j' });
      else json(response, 200, job((polls += 1) < 3 ? 'running' : 'exited'));
    });
    expect((await used.exec('s', { command: 'x' })).state).toBe('exited');
    expect(polls).toBe(3);
  });

  it('tells a lost sandbox from a lost job and from an absent manager', async () => {
    const used = await against((request, _body, response) => {
      if (request.url === '/sandboxes/gone/exec') json(response, 410, { detail: 'Sandbox gone has ended: killed' });
      else if (request.url === '/sandboxes/lost/exec') json(response, 200, { job_id: 'j' });
      else if (request.url?.startsWith('/jobs/j/wait') === true) json(response, 200, job('lost'));
      else json(response, 404, { detail: 'Job x not found' });
    }, 300);
    await expect(used.exec('gone', { command: 'x' })).rejects.toBeInstanceOf(SandboxLostError);
    await expect(used.exec('lost', { command: 'x' })).rejects.toBeInstanceOf(SandboxLostError);
    await expect(used.getJob('x')).rejects.toBeInstanceOf(ExecChannelError);
    const absent = new SandboxClient({ baseUrl: 'http://127.0.0.1:9', retryWindowMs: 100 });
    await expect(absent.get('s')).rejects.toMatchObject({ code: 'SANDBOX_MANAGER_UNAVAILABLE', retryable: true });
  });

  it('does not call a broken task a passing trouble', async () => {
    const used = await against((request, _body, response) => {
      const text = request.url?.includes('image') === true ? 'IMAGE_BUILD: line 2' : 'SANDBOX_CREATE: no memory';
      json(response, 200, { sandbox_id: 's', image: 'i', status: 'failed', status_message: text });
    });
    await expect(used.waitReady('image')).rejects.toMatchObject({ code: 'SANDBOX_CREATE', retryable: false });
    await expect(used.waitReady('other')).rejects.toMatchObject({ code: 'SANDBOX_CREATE', retryable: true });
  });

  it('gives up when it is told to', async () => {
    const used = await against(() => undefined);
    const abort = new AbortController();
    const waiting = used.exec('s', { command: 'x' }, { signal: abort.signal });
    abort.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });

  it('sends no second create without an id', async () => {
    let creates = 0;
    const used = await against((request) => {
      creates += 1;
      request.socket.destroy();
    }, 1_000);
    await expect(used.create({ image: 'x' })).rejects.toBeInstanceOf(SandboxManagerUnavailableError);
    expect(creates).toBe(1);
  });
});
