import { createHash } from 'node:crypto';
import type {
  ModelCalled,
  ModelCalledBody,
  ObjectRef,
  RolloutRequested,
  TrajectoryRecordedBody,
} from '@espalier/contracts';
import { CapabilityKey, ChatUpstream, PolicyVersions } from '@espalier/gateway';
import type { Claim, EventProducer, ReportExtra } from '@espalier/kafka';
import { ObjectStoreError, type ObjectStore, type PutOptions } from '@espalier/objects';
import type {
  ExecRequest,
  Job,
  ModelAnswer,
  ModelCall,
  ModelStreamOptions,
  SandboxClient,
} from '@espalier/sandbox-client';
import { packFiles, type TaskFile } from '@espalier/tasks';
import type { RolloutPorts } from '../rollouts/rollout-ports.ts';

const ATTEMPT = 'run/task/0/r0/a0';

/** Objects in memory; puts can be made to fail. */
export class MemoryObjects {
  readonly contents = new Map<string, Buffer>();
  /** Errors of the next puts. */
  readonly failing: ObjectStoreError[] = [];

  put(content: Buffer, { prefix, mediaType }: PutOptions): Promise<ObjectRef> {
    const error = this.failing.shift();
    if (error) return Promise.reject(error);
    const digest = createHash('sha256').update(content).digest('hex');
    const key = `${prefix}/${digest}`;
    this.contents.set(key, content);
    const size = content.length;
    return Promise.resolve({
      key,
      sha256: digest,
      bytes: size,
      content_digest: digest,
      content_bytes: size,
      media_type: mediaType,
      encoding: 'identity',
    });
  }

  get({ key }: ObjectRef): Promise<Buffer> {
    const content = this.contents.get(key);
    return content
      ? Promise.resolve(content)
      : Promise.reject(new ObjectStoreError('OBJECT_MISSING', `${key}: missing`));
  }
}

const output = (text: string): Job['stdout'] => ({
  head: Buffer.from(text),
  tail: Buffer.alloc(0),
  bytes: text.length,
  truncated: false,
  text,
});

export const job = (change: Partial<Job> = {}): Job => ({
  jobId: 'j1',
  sandboxId: 's1',
  state: 'exited',
  exitCode: 0,
  signal: null,
  startedAt: 0,
  endedAt: 1,
  stdout: output('the harness says'),
  stderr: output(''),
  error: null,
  ...change,
});

/** Everything around a rollout but the rollout, in memory: scripted by the functions that a spec sets. */
export class FakePlane {
  readonly objects = new MemoryObjects();
  readonly recorded: TrajectoryRecordedBody[] = [];
  readonly called: ModelCalledBody[] = [];
  readonly deleted: string[] = [];
  readonly created: Parameters<SandboxClient['create']>[0][] = [];
  readonly started: ExecRequest[] = [];
  readonly phases: string[] = [];
  readonly abort = new AbortController();
  readonly ended: string[] = [];
  onCall: ModelStreamOptions['onCall'] = () => Promise.resolve();
  /** What the harness does; its result is the job's end. Gets the signal of the waiting call. */
  harness: (signal: AbortSignal) => Promise<Job> = () => Promise.resolve(job());
  /** What the log holds for an adopter. */
  log: ModelCalled[] = [];
  readonly adoptions: (number | null)[] = [];
  onWaitReady: () => Promise<void> = () => Promise.resolve();
  onHeartbeat: () => Promise<void> = () => Promise.resolve();

  readonly claim: Claim = {
    workId: ATTEMPT,
    groupId: 'run/task/0',
    attemptId: ATTEMPT,
    runId: 'run',
    epoch: 1,
    claimId: 'claim-1',
    workerId: 'worker-1',
    modelLogFrom: null,
    signal: this.abort.signal,
    report: (phase: string, extra?: ReportExtra) => {
      this.phases.push(extra?.modelLogFrom === undefined ? phase : `${phase}@${extra.modelLogFrom}`);
      return Promise.resolve();
    },
    release: () => Promise.resolve(),
  };

  get ports(): RolloutPorts {
    const { sandboxes, producer } = this;
    return {
      sandboxes,
      openStream: (_access, options) => {
        this.onCall = options.onCall;
        const { promise, resolve } = Promise.withResolvers<'aborted'>();
        options.signal?.addEventListener('abort', () => resolve('aborted'), { once: true });
        return Promise.resolve({ ended: promise, close: () => resolve('aborted') });
      },
      objects: this.objects as unknown as ObjectStore,
      producer,
      log: {
        adopt: (_attempt, _epoch, from) => {
          this.adoptions.push(from);
          return Promise.resolve(this.log);
        },
      },
      upstream: new ChatUpstream({
        policyState: new PolicyVersions(),
        retries: { attempts: 2, timeouts: 1, baseMs: 1, capMs: 2 },
      }),
      capabilities: new CapabilityKey('a key for these specs only'),
      observer: { ended: (status, code) => this.ended.push(`${status} ${code}`.trim()) },
      logger: { info: () => undefined, warn: () => undefined, error: () => undefined },
    };
  }

  private get producer(): Pick<EventProducer, 'send'> {
    const send = (topic: string, body: unknown): Promise<{ partition: number; offset: number; eventId: string }> => {
      if (topic === 'trajectory.recorded') this.recorded.push(body as TrajectoryRecordedBody);
      if (topic === 'model.called') this.called.push(body as ModelCalledBody);
      return Promise.resolve({ partition: 0, offset: 41 + this.called.length, eventId: 'e' });
    };
    return { send } as Pick<EventProducer, 'send'>;
  }

  private get sandboxes(): SandboxClient {
    const sandbox = { sandboxId: 's1', image: '', status: 'ready', statusMessage: '', ready: true } as const;
    const fake: Partial<SandboxClient> = {
      create: (spec) => {
        this.created.push(spec);
        return Promise.resolve(sandbox);
      },
      get: () => Promise.resolve(sandbox),
      waitReady: async () => {
        await this.onWaitReady();
        return sandbox;
      },
      agentAccess: () =>
        Promise.resolve({ address: 'unix:/none', token: 't', isolation: 'bubblewrap', workdir: '/app' }),
      putFile: () => Promise.resolve(),
      startJob: (_id, request) => {
        this.started.push(request);
        return Promise.resolve('j1');
      },
      waitJob: (_id, _ms, options) => this.harness(options?.signal ?? new AbortController().signal),
      cancelJob: () => Promise.resolve(job({ state: 'cancelled', exitCode: null, signal: 'SIGTERM' })),
      heartbeat: () => this.onHeartbeat(),
      delete: (id) => {
        this.deleted.push(id);
        return Promise.resolve();
      },
      exec: () => Promise.resolve(job({ stdout: output('directory 755\n') })),
      readArchive: () => packFiles([{ path: 'out.txt', mode: 0o644, content: Buffer.from('done') }]),
    };
    return fake as SandboxClient;
  }

  /** Puts a small task and returns a request for it. */
  async request(change: Partial<RolloutRequested> = {}, files: readonly TaskFile[] = TASK): Promise<RolloutRequested> {
    const tar = await packFiles(files);
    const ref = await this.objects.put(tar, { prefix: 'packages', mediaType: 'application/x-tar' });
    return {
      event_id: 'e',
      occurred_at: Date.now() - 5,
      run_id: 'run',
      producer: 'p',
      idempotency_key: null,
      group_id: 'run/task/0',
      rollout_id: 'run/task/0/r0',
      attempt_id: ATTEMPT,
      attempt_no: 0,
      rollout_index: 0,
      kind: 'START',
      epoch: 1,
      purpose: 'TRAIN',
      task: {
        task_id: 'task',
        package: ref,
        name: 'org/task',
        image: null,
        resources_json: '{"cpus":2,"memory_mb":512}',
        agent_timeout_ms: 30_000,
        verifier_timeout_ms: null,
      },
      harness: { name: 'mini', version: null, config_json: '{}', weight: 1 },
      policy: {
        model: 'policy',
        endpoints: [],
        adapter: 'CHAT',
        temperature: 1,
        top_p: 1,
        max_tokens: 64,
        timeout_ms: 5_000,
        extra_json: '{}',
      },
      limits: { wall_ms: 60_000, model_calls: 5, sampled_tokens: 1_000, context_tokens: 4_000, setup_ms: 5_000 },
      policy_version: 0,
      seed: 7,
      deadline_at: Date.now() + 60_000,
      sandbox_id: null,
      model_log_from: null,
      ...change,
    };
  }

  /** Sends one chat call as the sandbox's agent would; returns status and body. */
  async chat(key: string, content: string): Promise<{ status: number; body: string }> {
    const env = this.started[0]?.env ?? {};
    const base = new URL(env['OPENAI_BASE_URL'] ?? '');
    let status = 0;
    const chunks: Buffer[] = [];
    const answer: ModelAnswer = {
      head: (given) => {
        status = given;
      },
      data: (bytes) => {
        chunks.push(Buffer.from(bytes as Uint8Array));
        return Promise.resolve();
      },
      end: () => undefined,
    };
    const call: ModelCall = {
      callNo: 1,
      key,
      method: 'POST',
      path: `${base.pathname}/chat/completions`,
      headers: { authorization: `Bearer ${env['OPENAI_API_KEY']}` },
      body: JSON.stringify({ messages: [{ role: 'user', content }] }),
      delivered: 0,
      signal: new AbortController().signal,
    };
    await this.onCall(call, answer);
    return { status, body: Buffer.concat(chunks).toString() };
  }
}

const file = (path: string, content: string, mode: TaskFile['mode'] = 0o644): TaskFile => ({
  path,
  mode,
  content: Buffer.from(content),
});

export const TASK: readonly TaskFile[] = [
  file('task.toml', '[task]\nname = "org/task"\n'),
  file('instruction.md', 'Write done to out.txt\n'),
  file('environment/Dockerfile', 'FROM scratch\n'),
  file('tests/test.sh', '#!/bin/sh\n', 0o755),
  file('solution/solve.sh', '#!/bin/sh\n', 0o755),
];
