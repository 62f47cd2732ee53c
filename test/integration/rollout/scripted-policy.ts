import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the policy says to one call: a shell command as a tool call, text that ends the work, or a status. */
export type Saying = { readonly run: string } | { readonly say: string } | { readonly status: number };

interface ChatMessage {
  readonly role: string;
  readonly content: string | null;
  readonly tool_calls?: readonly { readonly function: { readonly arguments: string } }[];
}

const bytesOf = (text: string): number[] => [...Buffer.from(text)];

/** The template: answers stand in a prompt exactly as they were sampled. */
const render = (messages: readonly ChatMessage[]): string =>
  messages
    .map(({ role, content, tool_calls: calls }) =>
      role === 'assistant' ? (calls?.[0]?.function.arguments ?? content ?? '') : `<${role}>${content ?? ''}</>`,
    )
    .join('');

/** A policy server with token ids and log-probs whose answers are written down beforehand, by seed of the rollout. */
export class ScriptedPolicy {
  readonly #server: Server;
  /** By run: answers in the order of the calls; the last one stays. */
  readonly #scripts = new Map<string, Saying[]>();
  /** Calls from this one on wait until they are let go. */
  #heldFrom = Number.POSITIVE_INFINITY;
  #letGo: Promise<void> = Promise.resolve();
  calls = 0;

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.once('end', () => {
        this.calls += 1;
        const rollout = decodeURIComponent(String(request.headers['x-espalier-rollout']));
        const script = this.#scripts.get(rollout.split('/', 1)[0] ?? '') ?? [];
        const saying = (script.length > 1 ? script.shift() : script[0]) ?? { status: 500 };
        const body = JSON.parse(Buffer.concat(chunks).toString()) as { messages: ChatMessage[] };
        const turn = this.calls > this.#heldFrom ? this.#letGo : Promise.resolve();
        void turn.then(() => {
          if ('status' in saying) response.writeHead(saying.status).end('{"error":{"message":"scripted"}}');
          else response.writeHead(200, { 'content-type': 'application/json' }).end(completion(saying, body.messages));
        });
      });
    });
  }

  static async start(): Promise<ScriptedPolicy> {
    const policy = new ScriptedPolicy();
    await new Promise<void>((resolve) => policy.#server.listen(0, '127.0.0.1', resolve));
    return policy;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  script(runId: string, ...sayings: Saying[]): void {
    this.#scripts.set(runId, sayings);
  }

  /** Answers `more` calls at once and holds those after them until the returned function is called. */
  hold(more = 0): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#heldFrom = this.calls + more;
    this.#letGo = promise;
    return () => {
      this.#heldFrom = Number.POSITIVE_INFINITY;
      resolve();
    };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function completion(saying: { run: string } | { say: string }, messages: readonly ChatMessage[]): string {
  const args = 'run' in saying ? JSON.stringify({ command: saying.run }) : null;
  const sampled = bytesOf('run' in saying ? (args ?? '') : saying.say);
  const message =
    'run' in saying
      ? {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'bash', arguments: args } }],
        }
      : { role: 'assistant', content: saying.say };
  return JSON.stringify({
    id: 'x',
    object: 'chat.completion',
    prompt_token_ids: bytesOf(render(messages)),
    policy_version: 1,
    choices: [
      {
        index: 0,
        message,
        finish_reason: 'run' in saying ? 'tool_calls' : 'stop',
        token_ids: sampled,
        logprobs: { content: sampled.map((id) => ({ token: String(id), logprob: -id / 512 })) },
      },
    ],
  });
}
