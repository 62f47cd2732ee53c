import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { ExecChannelError, SandboxCreateError, SandboxLostError, SandboxNotReadyError } from './errors.ts';
import { readFailure, type CallContext } from './http/failures.ts';
import { HttpTransport, type HttpCall } from './http/transport.ts';
import type { AgentAccess, CallOptions, ExecRequest, FileEntry, Job, Sandbox, SandboxSpec } from './types.ts';
import { createBody, execBody, readFileEntries, readJob, readSandbox } from './wire.ts';

export interface SandboxClientOptions {
  /** The manager, e.g. `http://127.0.0.1:4100`. */
  readonly baseUrl: string;
  readonly apiKey?: string;
  /** Silence limit of a call, milliseconds. Default 60,000. */
  readonly requestTimeoutMs?: number;
  /** How long calls are retried while the manager is away, milliseconds. Default 30,000. */
  readonly retryWindowMs?: number;
}

/** One long poll of a job or of readiness, seconds. */
const POLL_SECONDS = 20;

/** Codes of failures that another sandbox would have too: the task, its image or this machine is at fault. */
const FINAL_FAILURE = /^(?:DOCKERFILE_|IMAGE_|TASK_|OBJECT_CORRUPT|SANDBOX_(?:PAYLOAD|ISOLATION|QUANTITY))/;

const sandboxPath = (id: string, rest = ''): string => `/sandboxes/${encodeURIComponent(id)}${rest}`;
const archivePath = (id: string, path: string): string => sandboxPath(id, `/archive?path=${encodeURIComponent(path)}`);
const isOver = (job: Job): boolean => job.state !== 'queued' && job.state !== 'running';

/**
 * Client of the sandbox-manager. Every call is retried while the manager is away, except streamed uploads; none can
 * run a command twice. All methods throw subclasses of `SandboxError` for infrastructure and request failures alone.
 */
export class SandboxClient {
  readonly #transport: HttpTransport;
  readonly #timeoutMs: number;

  constructor(options: SandboxClientOptions) {
    this.#timeoutMs = options.requestTimeoutMs ?? 60_000;
    this.#transport = new HttpTransport({
      baseUrl: options.baseUrl,
      apiKey: options.apiKey,
      retryWindowMs: options.retryWindowMs ?? 30_000,
    });
  }

  /** Creates, or finds the sandbox that the same spec made under this id. Returns before it is ready. */
  async create(spec: SandboxSpec, options: CallOptions = {}): Promise<Sandbox> {
    const context = { sandboxId: spec.sandboxId ?? '', what: 'create' } as const;
    // Without an id a second POST would make a second sandbox.
    const retry = spec.sandboxId !== undefined;
    return readSandbox(await this.#json('POST', '/sandboxes', context, { body: createBody(spec), retry, ...options }));
  }

  /**
   * Resolves when the sandbox is ready. Throws `SANDBOX_CREATE` when it failed, `SANDBOX_NOT_READY` after `timeoutMs`,
   * `SANDBOX_LOST` when it does not exist (any more).
   */
  async waitReady(sandboxId: string, options: CallOptions & { readonly timeoutMs?: number } = {}): Promise<Sandbox> {
    const deadline = performance.now() + (options.timeoutMs ?? 300_000);
    for (;;) {
      const seconds = Math.max(0, Math.min(POLL_SECONDS, Math.ceil((deadline - performance.now()) / 1000)));
      const path = sandboxPath(sandboxId, `/wait?timeout=${seconds}`);
      const found = await this.#json('GET', path, { sandboxId, what: 'wait' }, { retry: true, ...options });
      if (found !== undefined) {
        const sandbox = readSandbox(found);
        if (sandbox.status === 'ready') return sandbox;
        if (sandbox.status === 'failed')
          throw new SandboxCreateError(
            `sandbox ${sandboxId} failed: ${sandbox.statusMessage}`,
            !FINAL_FAILURE.test(sandbox.statusMessage),
          );
        if (sandbox.status === 'not_found')
          throw new SandboxLostError(`sandbox ${sandboxId} is gone: ${sandbox.statusMessage}`);
      }
      if (performance.now() >= deadline)
        throw new SandboxNotReadyError(`sandbox ${sandboxId} did not become ready in time; see the manager's log`);
    }
  }

  async get(sandboxId: string, options: CallOptions = {}): Promise<Sandbox> {
    return readSandbox(
      await this.#json('GET', sandboxPath(sandboxId), { sandboxId, what: 'get' }, { retry: true, ...options }),
    );
  }

  /** Ends the sandbox and all in it; resolves once that is under way, also when it never existed. */
  async delete(sandboxId: string, options: CallOptions = {}): Promise<void> {
    await this.#json('DELETE', sandboxPath(sandboxId), { sandboxId, what: 'delete' }, { retry: true, ...options });
  }

  /** Renews the lease. Throws `SANDBOX_LOST`. */
  async heartbeat(sandboxId: string, options: CallOptions = {}): Promise<void> {
    const path = sandboxPath(sandboxId, '/heartbeat');
    await this.#json('POST', path, { sandboxId, what: 'heartbeat' }, { retry: true, ...options });
  }

  /** Where the sandbox's agent answers. Throws `SANDBOX_LOST`. */
  async agentAccess(sandboxId: string, options: CallOptions = {}): Promise<AgentAccess> {
    const path = sandboxPath(sandboxId, '/agent');
    return (await this.#json('GET', path, { sandboxId, what: 'agent' }, { retry: true, ...options })) as AgentAccess;
  }

  /** Runs a command to its end, however often the way to it breaks. A failing command resolves. */
  async exec(sandboxId: string, request: ExecRequest, options: CallOptions = {}): Promise<Job> {
    const jobId = await this.startJob(sandboxId, request, options);
    for (;;) {
      const job = await this.waitJob(jobId, POLL_SECONDS * 1000, options);
      if (job.state === 'lost')
        throw new SandboxLostError(`sandbox ${sandboxId} ended under job ${jobId}: ${job.error ?? 'no cause known'}`);
      if (isOver(job)) return job;
    }
  }

  /** Starts a command and returns its job id: the same one for the same idempotency key, also after restarts. */
  async startJob(sandboxId: string, request: ExecRequest, options: CallOptions = {}): Promise<string> {
    const answer = await this.#json(
      'POST',
      sandboxPath(sandboxId, '/exec'),
      { sandboxId, what: 'exec' },
      {
        body: execBody(request),
        headers: { 'idempotency-key': request.idempotencyKey ?? randomUUID() },
        retry: true,
        ...options,
      },
    );
    return (answer as { job_id: string }).job_id;
  }

  async getJob(jobId: string, options: CallOptions = {}): Promise<Job> {
    const path = `/jobs/${encodeURIComponent(jobId)}?view=full`;
    return readJob(await this.#json('GET', path, { sandboxId: '', what: 'job' }, { retry: true, ...options }));
  }

  /** Resolves when the job is over or after `waitMs`, whichever is first: look at `state`. */
  async waitJob(jobId: string, waitMs: number, options: CallOptions = {}): Promise<Job> {
    const path = `/jobs/${encodeURIComponent(jobId)}/wait?view=full&timeout_ms=${Math.ceil(waitMs)}`;
    return readJob(await this.#json('GET', path, { sandboxId: '', what: 'job' }, { retry: true, waitMs, ...options }));
  }

  /** Ends the job's whole process tree: TERM, then KILL. */
  async cancelJob(jobId: string, options: CallOptions = {}): Promise<Job> {
    const path = `/jobs/${encodeURIComponent(jobId)}?view=full`;
    return readJob(await this.#json('DELETE', path, { sandboxId: '', what: 'job' }, { retry: true, ...options }));
  }

  /** Jobs of a sandbox, oldest first. */
  async listJobs(sandboxId: string, options: CallOptions = {}): Promise<Job[]> {
    const path = sandboxPath(sandboxId, '/jobs?view=full');
    const answer = await this.#json('GET', path, { sandboxId, what: 'jobs' }, { retry: true, ...options });
    return ((answer as { jobs: unknown[] }).jobs ?? []).map(readJob);
  }

  /** Writes a file atomically, making its parents. `mode`: permission bits. */
  async putFile(
    sandboxId: string,
    path: string,
    content: Uint8Array | string,
    options: CallOptions & { readonly mode?: number } = {},
  ): Promise<void> {
    const query = `?path=${encodeURIComponent(path)}${options.mode === undefined ? '' : `&mode=${options.mode.toString(8)}`}`;
    await this.#json(
      'PUT',
      sandboxPath(sandboxId, `/files/raw${query}`),
      { sandboxId, what: 'file', path },
      {
        raw: Buffer.from(content as Uint8Array),
        headers: { 'content-type': 'application/octet-stream' },
        retry: true,
        ...(options.signal ? { signal: options.signal } : {}),
      },
    );
  }

  /** Throws `SANDBOX_FILE` when it is missing or no regular file. */
  async getFile(sandboxId: string, path: string, options: CallOptions = {}): Promise<Buffer> {
    return this.#exchange(
      'GET',
      sandboxPath(sandboxId, `/files/raw?path=${encodeURIComponent(path)}`),
      { sandboxId, what: 'file', path },
      { retry: true, ...options },
    );
  }

  async listFiles(sandboxId: string, path: string, options: CallOptions = {}): Promise<FileEntry[]> {
    return readFileEntries(
      await this.#json(
        'GET',
        sandboxPath(sandboxId, `/files/list?path=${encodeURIComponent(path)}`),
        { sandboxId, what: 'file', path },
        { retry: true, ...options },
      ),
    );
  }

  /** Extracts an uncompressed tar below the directory `path`, making it. Streams are sent once, buffers retried. */
  async putArchive(
    sandboxId: string,
    path: string,
    tar: Uint8Array | Readable,
    options: CallOptions = {},
  ): Promise<void> {
    const buffered = tar instanceof Uint8Array;
    await this.#json(
      'PUT',
      archivePath(sandboxId, path),
      { sandboxId, what: 'file', path },
      {
        ...(buffered ? { raw: Buffer.from(tar) } : { stream: tar }),
        headers: { 'content-type': 'application/x-tar' },
        retry: buffered,
        ...options,
      },
    );
  }

  /** An uncompressed tar of the directory `path`, names relative to it. The stream fails if it is cut short. */
  async getArchive(sandboxId: string, path: string, options: CallOptions = {}): Promise<Readable> {
    const context: CallContext = { sandboxId, what: 'file', path };
    const call = this.#call('GET', archivePath(sandboxId, path), { retry: true, ...options });
    const response = await this.#transport.open(call);
    if ((response.statusCode ?? 0) < 400) return response;
    throw readFailure(response.statusCode ?? 0, (await this.#transport.read(response)).toString('utf8'), context);
  }

  /** {@link getArchive}, read whole; asked for again when it breaks off. */
  readArchive(sandboxId: string, path: string, options: CallOptions = {}): Promise<Buffer> {
    const context: CallContext = { sandboxId, what: 'file', path };
    return this.#exchange('GET', archivePath(sandboxId, path), context, { retry: true, ...options });
  }

  /** Closes idle connections; calls under way fail. */
  close(): void {
    this.#transport.close();
  }

  /** The parsed answer; undefined for the 408 of a wait. */
  async #json(method: string, path: string, context: CallContext, options: SendOptions): Promise<unknown> {
    const text = (await this.#exchange(method, path, context, options)).toString('utf8');
    if (text === '') return undefined;
    try {
      return JSON.parse(text) as unknown;
    } catch (cause) {
      throw new ExecChannelError(`${method} ${path}: the answer is not JSON`, { cause });
    }
  }

  async #exchange(method: string, path: string, context: CallContext, options: SendOptions): Promise<Buffer> {
    const { status, body } = await this.#transport.exchange(this.#call(method, path, options));
    if (status === 408 && context.what === 'wait') return Buffer.alloc(0);
    if (status >= 400) throw readFailure(status, body.toString('utf8'), context);
    return body;
  }

  #call(method: string, path: string, options: SendOptions): HttpCall {
    const json = options.body === undefined ? undefined : Buffer.from(JSON.stringify(options.body));
    return {
      method,
      path,
      headers: { ...(json ? { 'content-type': 'application/json' } : {}), ...options.headers },
      body: json ?? options.raw,
      stream: options.stream,
      signal: options.signal,
      timeoutMs: this.#timeoutMs + (options.waitMs ?? 0),
      retry: options.retry,
    };
  }
}

interface SendOptions extends CallOptions {
  readonly body?: Record<string, unknown>;
  readonly raw?: Buffer;
  readonly stream?: Readable;
  readonly headers?: Readonly<Record<string, string>>;
  readonly retry: boolean;
  readonly waitMs?: number;
}
