import type { Failure, ModelCalled, RolloutLimits } from '@espalier/contracts';
import { TrajectoryBuilder } from '@espalier/trajectory';
import { attemptPath, CapabilityKey } from '../capability/capability-token.ts';
import { PolicyVersions } from '../policy-versions.ts';
import type { AnswerWriter, CallRecorder, GatewayCall, ModelCallRecord } from '../ports.ts';
import { GatewaySession } from '../session/gateway-session.ts';
import { ChatUpstream } from '../upstream/chat-upstream.ts';

/** An answer as the harness would get it. */
export class CollectedAnswer implements AnswerWriter {
  status = 0;
  headers: Readonly<Record<string, string>> = {};
  body = Buffer.alloc(0);
  ended = false;

  head(status: number, headers: Readonly<Record<string, string>>): void {
    this.status = status;
    this.headers = headers;
  }
  data(bytes: Uint8Array): Promise<void> {
    this.body = Buffer.concat([this.body, bytes]);
    return Promise.resolve();
  }
  end(): void {
    this.ended = true;
  }
  get text(): string {
    return this.body.toString();
  }
  get json(): {
    choices?: { message: { content: string } }[];
    error?: { code: string; type: string; message: string };
  } {
    return JSON.parse(this.text) as never;
  }
  get content(): string | undefined {
    return this.json.choices?.[0]?.message.content;
  }
}

const ATTEMPT = 'run/task/0/r1/a0';

/** A session with everything it needs, recording into a list. */
export class SessionFixture {
  readonly log: ModelCallRecord[] = [];
  readonly versions = new PolicyVersions();
  readonly capabilities = new CapabilityKey('a key of this spec alone');
  readonly builder: TrajectoryBuilder;
  readonly session: GatewaySession;
  readonly fatal: Failure[] = [];
  /** Runs before a record is stored; may throw. */
  onRecord: (record: ModelCallRecord) => void | Promise<void> = () => undefined;

  constructor(
    endpoints: readonly string[],
    options: {
      limits?: Partial<RolloutLimits>;
      timeoutMs?: number;
      restored?: readonly ModelCalled[];
      wallDeadline?: number;
      extraJson?: string;
    } = {},
  ) {
    this.builder = new TrajectoryBuilder({
      trajectoryId: `${ATTEMPT}/t`,
      attemptId: ATTEMPT,
      taskId: 'task',
      harness: 'mini',
      model: 'policy',
      instruction: '',
    });
    for (const record of options.restored ?? []) this.builder.apply(record);
    const recorder: CallRecorder = {
      record: async (record) => {
        await this.onRecord(record);
        this.log.push(record);
      },
    };
    const retries = { attempts: 4, timeouts: 2, baseMs: 2, capMs: 10 };
    this.session = new GatewaySession(
      {
        runId: 'run',
        groupId: 'run/task/0',
        rolloutId: 'run/task/0/r1',
        attemptId: ATTEMPT,
        epoch: 1,
        policy: {
          model: 'policy',
          endpoints: [...endpoints],
          adapter: 'CHAT',
          temperature: 1,
          top_p: 1,
          max_tokens: 512,
          timeout_ms: options.timeoutMs ?? 10_000,
          extra_json: options.extraJson ?? '{}',
        },
        limits: {
          wall_ms: 60_000,
          model_calls: 10,
          sampled_tokens: 10_000,
          context_tokens: 10_000,
          setup_ms: 1_000,
          ...options.limits,
        },
        seed: 40,
        policyVersion: 2,
        wallDeadline: options.wallDeadline ?? null,
      },
      this.builder,
      {
        recorder,
        upstream: new ChatUpstream({ policyState: this.versions, retries }),
        capabilities: this.capabilities,
        onFatal: (failure) => this.fatal.push(failure),
      },
      options.restored ?? [],
    );
  }

  get token(): string {
    return this.capabilities.issue({ attemptId: ATTEMPT, role: 'policy', expiresAt: Date.now() + 60_000 });
  }

  #keys = 0;

  /** A chat-completions call with these messages. */
  call(body: object | string, change: Partial<GatewayCall> = {}): GatewayCall {
    this.#keys += 1;
    return {
      key: `key-${this.#keys}`,
      method: 'POST',
      path: `${attemptPath(ATTEMPT)}/v1/chat/completions`,
      headers: { authorization: `Bearer ${this.token}` },
      body: typeof body === 'string' ? body : JSON.stringify({ model: 'policy', ...body }),
      delivered: 0,
      signal: new AbortController().signal,
      ...change,
    };
  }

  async send(call: GatewayCall): Promise<CollectedAnswer> {
    const answer = new CollectedAnswer();
    await this.session.handle(call, answer);
    return answer;
  }

  ask(body: object | string, change: Partial<GatewayCall> = {}): Promise<CollectedAnswer> {
    return this.send(this.call(body, change));
  }
}

/** Records as a reader of the log has them. */
export const asRead = (log: readonly ModelCallRecord[]): ModelCalled[] =>
  log.map((record) => ({ ...record, event_id: '', producer: '' }));

export const user = (content: string): { role: string; content: string } => ({ role: 'user', content });
export const assistant = (content: string): { role: string; content: string } => ({ role: 'assistant', content });
