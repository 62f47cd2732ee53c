import { createHash } from 'node:crypto';
import type { ObjectRef, RewardReportedBody, ScoringRequested } from '@espalier/contracts';
import type { Claim, EventProducer } from '@espalier/kafka';
import { ObjectStoreError, type ObjectStore, type PutOptions } from '@espalier/objects';
import { SandboxFileError, type Job, type SandboxClient } from '@espalier/sandbox-client';
import { packFiles, REWARD_TEXT, type TaskFile } from '@espalier/tasks';
import type { ScoringPorts } from '../scorings/scoring-ports.ts';

const TRAJECTORY = 'run/task/0/r0/a0/t';
const file = (path: string, content: string, mode: TaskFile['mode'] = 0o644): TaskFile => ({
  path,
  mode,
  content: Buffer.from(content),
});
const TASK = [
  file('task.toml', '[task]\nname = "org/task"\n[verifier]\ntimeout_sec = 30\n'),
  file('instruction.md', 'Write done to out.txt\n'),
  file('environment/Dockerfile', 'FROM scratch\n'),
  file('tests/test.sh', '#!/bin/sh\n', 0o755),
];

const output = (text: string): Job['stdout'] => ({
  head: Buffer.from(text),
  tail: Buffer.alloc(0),
  bytes: text.length,
  truncated: false,
  text,
});

const job = (stdout: string, change: Partial<Job> = {}): Job => ({
  jobId: 'j',
  sandboxId: 's',
  state: 'exited',
  exitCode: 0,
  signal: null,
  startedAt: 0,
  endedAt: 1,
  stdout: output(stdout),
  stderr: output(''),
  error: null,
  ...change,
});

/** A scoring's surroundings in memory: a sandbox whose test script does what the spec says. */
export class FakeScoring {
  readonly contents = new Map<string, Buffer>();
  readonly reported: RewardReportedBody[] = [];
  readonly deleted: string[] = [];
  readonly commands: { readonly command: string; readonly timeoutMs: number }[] = [];
  readonly archives: string[] = [];
  readonly abort = new AbortController();
  /** Text of the reward file; null without one. */
  reward: string | null = '1';
  /** Runs in place of the test script. */
  tests: () => Promise<Partial<Job>> = () => Promise.resolve({});
  onCreate: () => Promise<void> = () => Promise.resolve();

  readonly claim: Claim = {
    workId: `${TRAJECTORY}/verifier@1#0`,
    groupId: 'run/task/0',
    attemptId: 'run/task/0/r0/a0',
    runId: 'run',
    epoch: 2,
    claimId: 'claim',
    workerId: 'worker',
    modelLogFrom: null,
    signal: this.abort.signal,
    report: () => Promise.resolve(),
    release: () => Promise.resolve(),
  };

  get ports(): ScoringPorts {
    return {
      sandboxes: this.#sandboxes(),
      objects: { put: this.put, get: this.#get } as unknown as ObjectStore,
      producer: {
        send: (_topic: string, body: RewardReportedBody) => {
          this.reported.push(body);
          return Promise.resolve({ partition: 0, offset: 0, eventId: 'e' });
        },
      } as unknown as Pick<EventProducer, 'send'>,
      observer: { scored: () => undefined },
      logger: { info: () => undefined, warn: () => undefined, error: () => undefined },
    };
  }

  readonly put = (content: Buffer, { prefix, mediaType }: PutOptions): Promise<ObjectRef> => {
    const digest = createHash('sha256').update(content).digest('hex');
    const key = `${prefix}/${digest}`;
    this.contents.set(key, content);
    const bytes = content.length;
    const sizes = { bytes, content_bytes: bytes, sha256: digest, content_digest: digest };
    return Promise.resolve({ key, media_type: mediaType, encoding: 'identity', ...sizes });
  };

  readonly #get = ({ key }: ObjectRef): Promise<Buffer> => {
    const content = this.contents.get(key);
    return content
      ? Promise.resolve(content)
      : Promise.reject(new ObjectStoreError('OBJECT_MISSING', `${key}: missing`));
  };

  #sandboxes(): SandboxClient {
    const sandbox = { sandboxId: 's', image: '', status: 'ready', statusMessage: '', ready: true } as const;
    const fake: Partial<SandboxClient> = {
      create: async () => {
        await this.onCreate();
        return sandbox;
      },
      waitReady: () => Promise.resolve(sandbox),
      agentAccess: () => Promise.resolve({ address: '', token: '', isolation: 'none', workdir: '/app' }),
      heartbeat: () => Promise.resolve(),
      exec: async (_id, { command = '', timeoutMs = 0 }) => {
        this.commands.push({ command, timeoutMs });
        if (command.startsWith('/tests/test.sh')) return job('', await this.tests());
        if (command.includes('tail -c')) return job('the tests say');
        if (command.includes(`wc -c < ${REWARD_TEXT}`))
          return job(this.reward === null ? '' : `${this.reward.length}\n`);
        return job('');
      },
      putArchive: (_id, path) => {
        this.archives.push(path);
        return Promise.resolve();
      },
      getFile: (_id, path) =>
        path === REWARD_TEXT
          ? Promise.resolve(Buffer.from(this.reward ?? ''))
          : Promise.reject(new SandboxFileError(`${path}: none`, path, true)),
      delete: (id) => {
        this.deleted.push(id);
        return Promise.resolve();
      },
    };
    return fake as SandboxClient;
  }

  /** Stores a task and a workspace and returns a request to score them. */
  async request(change: Partial<ScoringRequested> = {}): Promise<ScoringRequested> {
    const tar = { mediaType: 'application/x-tar' };
    const taskPackage = await this.put(await packFiles(TASK), { prefix: 'packages', ...tar });
    const snapshot = await this.put(await packFiles([file('app/out.txt', 'done')]), {
      prefix: 'runs/run/snapshots',
      ...tar,
    });
    return {
      event_id: 'e',
      occurred_at: 0,
      run_id: 'run',
      producer: 'p',
      idempotency_key: null,
      group_id: 'run/task/0',
      attempt_id: 'run/task/0/r0/a0',
      trajectory_id: TRAJECTORY,
      work_id: `${TRAJECTORY}/verifier@1#0`,
      scorer: 'verifier',
      scorer_version: '1',
      required: true,
      config_json: '{}',
      deadline_at: Date.now() + 120_000,
      task: {
        task_id: 'task',
        package: taskPackage,
        name: 'org/task',
        image: null,
        resources_json: '{}',
        agent_timeout_ms: null,
        verifier_timeout_ms: null,
      },
      snapshot,
      body: null,
      stop_reason: 'SUBMITTED',
      ...change,
    };
  }
}
