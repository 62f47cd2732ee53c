import { Agent, request, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { AgentAccess } from '@espalier/sandbox-client';

/** Kept output of a job, as the agent gives it. */
export interface AgentOutput {
  readonly head_base64: string;
  readonly tail_base64: string;
  readonly bytes: number;
  readonly truncated: boolean;
}

/** A job, as the agent gives it. */
export interface AgentJob {
  readonly job_id: string;
  readonly state: 'running' | 'exited' | 'timed_out' | 'cancelled';
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly error: string | null;
  readonly stdout: AgentOutput;
  readonly stderr: AgentOutput;
}

/** A job to start. */
export interface AgentJobRequest {
  readonly command?: string;
  readonly argv?: readonly string[];
  readonly cwd?: string;
  readonly strict_cwd?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeout_ms: number;
  readonly login_shell?: boolean;
  readonly stdin_base64?: string;
  readonly max_output_bytes?: number;
}

/** The way to the agent broke: whether the call arrived is unknown. */
export class AgentConnectionError extends Error {
  readonly code = 'AGENT_CONNECTION';
  readonly retryable = true;
}

/** The agent refused a call. */
export class AgentRefusedError extends Error {
  readonly retryable = false;

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

interface AgentCall {
  readonly method: string;
  readonly path: string;
  readonly body?: Buffer | Readable;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Calls agents over their unix sockets or TCP; every answer is checked for coming from the sandbox that was meant. */
export class AgentClient {
  readonly #pool = new Agent({ keepAlive: true, maxFreeSockets: 256, scheduling: 'lifo' });

  async health(id: string, access: AgentAccess): Promise<void> {
    await this.#json(id, access, { method: 'GET', path: '/v1/health' });
  }

  /** Starts, or finds, the job of this id and waits up to `waitMs` for its end. */
  startJob(
    id: string,
    access: AgentAccess,
    jobId: string,
    job: AgentJobRequest,
    waitMs: number,
    signal?: AbortSignal,
  ): Promise<AgentJob> {
    return this.#json(id, access, {
      method: 'PUT',
      path: `/v1/jobs/${encodeURIComponent(jobId)}?wait_ms=${waitMs}`,
      body: Buffer.from(JSON.stringify(job)),
      ...(signal ? { signal } : {}),
    }) as Promise<AgentJob>;
  }

  getJob(id: string, access: AgentAccess, jobId: string, waitMs: number, signal?: AbortSignal): Promise<AgentJob> {
    const path = `/v1/jobs/${encodeURIComponent(jobId)}?wait_ms=${waitMs}`;
    return this.#json(id, access, { method: 'GET', path, ...(signal ? { signal } : {}) }) as Promise<AgentJob>;
  }

  cancelJob(id: string, access: AgentAccess, jobId: string): Promise<AgentJob> {
    return this.#json(id, access, {
      method: 'DELETE',
      path: `/v1/jobs/${encodeURIComponent(jobId)}`,
    }) as Promise<AgentJob>;
  }

  async renewLease(id: string, access: AgentAccess, ttlMs: number): Promise<void> {
    await this.#json(id, access, {
      method: 'POST',
      path: '/v1/lease',
      body: Buffer.from(JSON.stringify({ ttl_ms: ttlMs })),
    });
  }

  /** Writes a file; returns its size and resolved path. */
  async putFile(
    id: string,
    access: AgentAccess,
    path: string,
    content: Buffer | Readable,
    mode: string | null = null,
  ): Promise<{ path: string; size: number }> {
    const query = `path=${encodeURIComponent(path)}${mode === null ? '' : `&mode=${encodeURIComponent(mode)}`}`;
    return (await this.#json(id, access, { method: 'PUT', path: `/v1/files?${query}`, body: content })) as {
      path: string;
      size: number;
    };
  }

  /** A raw stream of a file. */
  openFile(id: string, access: AgentAccess, path: string): Promise<IncomingMessage> {
    return this.#send(id, access, { method: 'GET', path: `/v1/files?path=${encodeURIComponent(path)}` });
  }

  async readFile(id: string, access: AgentAccess, path: string): Promise<Buffer> {
    return readAll(await this.openFile(id, access, path));
  }

  async listFiles(id: string, access: AgentAccess, path: string): Promise<{ files: AgentFile[] }> {
    return (await this.#json(id, access, {
      method: 'GET',
      path: `/v1/files/list?path=${encodeURIComponent(path)}`,
    })) as { files: AgentFile[] };
  }

  async putArchive(id: string, access: AgentAccess, path: string, tar: Buffer | Readable): Promise<unknown> {
    return this.#json(id, access, { method: 'PUT', path: `/v1/archive?path=${encodeURIComponent(path)}`, body: tar });
  }

  openArchive(id: string, access: AgentAccess, query: string): Promise<IncomingMessage> {
    return this.#send(id, access, { method: 'GET', path: `/v1/archive?${query}` });
  }

  close(): void {
    this.#pool.destroy();
  }

  async #json(id: string, access: AgentAccess, call: AgentCall): Promise<unknown> {
    const text = (await readAll(await this.#send(id, access, call))).toString('utf8');
    try {
      return JSON.parse(text) as unknown;
    } catch (cause) {
      throw new AgentConnectionError(`the agent of sandbox ${id} sent no JSON`, { cause });
    }
  }

  async #send(id: string, access: AgentAccess, call: AgentCall): Promise<IncomingMessage> {
    const response = await this.#open(access, call);
    if (response.headers['x-espalier-sandbox'] !== id && response.statusCode !== 401) {
      response.destroy();
      throw new AgentConnectionError(`another sandbox answers at ${access.address}`);
    }
    if ((response.statusCode ?? 500) < 300) return response;
    const text = (await readAll(response)).toString('utf8');
    let parsed: { code?: string; message?: string } = {};
    try {
      parsed = JSON.parse(text) as typeof parsed;
    } catch {
      // The text itself is the message.
    }
    throw new AgentRefusedError(response.statusCode ?? 500, parsed.code ?? 'AGENT_REFUSED', parsed.message ?? text);
  }

  #open(access: AgentAccess, call: AgentCall): Promise<IncomingMessage> {
    const { body } = call;
    const buffered = Buffer.isBuffer(body);
    const [scheme, ...rest] = access.address.split(':');
    const place =
      scheme === 'unix'
        ? { socketPath: rest.join(':') }
        : { host: rest.slice(0, -1).join(':'), port: Number(rest.at(-1)) };
    return new Promise((resolve, reject) => {
      const fail = (cause: Error): void =>
        reject(new AgentConnectionError(cause.message === '' ? String(cause) : cause.message, { cause }));
      const outgoing = request({
        ...place,
        agent: this.#pool,
        method: call.method,
        path: call.path,
        ...(call.signal ? { signal: call.signal } : {}),
        headers: {
          authorization: `Bearer ${access.token}`,
          ...(buffered ? { 'content-length': String(body.length) } : {}),
          ...call.headers,
        },
      });
      outgoing.once('response', resolve);
      outgoing.on('error', fail);
      if (body instanceof Readable) pipeline(body, outgoing).catch(fail);
      else outgoing.end(body);
    });
  }
}

/** An entry of a listing, as the agent gives it. */
export interface AgentFile {
  readonly name: string;
  readonly type: 'file' | 'directory';
  readonly size: number;
  readonly modified: string;
  readonly link?: string;
}

async function readAll(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (cause) {
    throw new AgentConnectionError('the answer of the agent broke off', { cause });
  }
  return Buffer.concat(chunks);
}
