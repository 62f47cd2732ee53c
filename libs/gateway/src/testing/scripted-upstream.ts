import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json } from '@espalier/trajectory';

/** A request as the server got it. */
export interface SeenRequest {
  readonly path: string;
  readonly body: Readonly<Record<string, Json>>;
}

/** How one request is answered. */
export type Script = (request: SeenRequest, response: ServerResponse) => void | Promise<void>;

/** Byte-level token ids of a text, as a server without a tokenizer would give them. */
export const bytesOf = (text: string): number[] => [...Buffer.from(text)];

/** A chat completion in vLLM's dialect, with changes. */
export function completion(
  { body }: SeenRequest,
  text: string,
  change: { readonly top?: Record<string, Json>; readonly choice?: Record<string, Json>; readonly message?: Json } = {},
): Record<string, Json> {
  const ids = bytesOf(text);
  return {
    id: 'server-side-id',
    object: 'chat.completion',
    prompt_token_ids: bytesOf(renderPrompt(body['messages'])),
    choices: [
      {
        index: 0,
        message: change.message ?? { role: 'assistant', content: text, tool_calls: [] },
        finish_reason: 'stop',
        token_ids: ids,
        logprobs: { content: ids.map((id) => ({ token: String.fromCharCode(id), logprob: -id / 256 })) },
        ...change.choice,
      },
    ],
    policy_version: 3,
    ...change.top,
  };
}

/** Prompt of a template that keeps answers as they were sampled. */
export function renderPrompt(messages: Json | undefined): string {
  const list = messages as readonly { role: string; content: string | null }[];
  return list
    .map(({ role, content }) => (role === 'assistant' ? (content ?? '') : `<${role}>${content ?? ''}</>`))
    .join('');
}

export function sendJson(
  response: ServerResponse,
  body: Json,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** A real HTTP server on loopback, answering by script; the last script stays. */
export class ScriptedUpstream {
  readonly seen: SeenRequest[] = [];
  readonly #scripts: Script[];
  readonly #server: Server;

  private constructor(scripts: readonly Script[]) {
    this.#scripts = [...scripts];
    this.#server = createServer((request, response) => void this.#handle(request, response));
  }

  static async start(...scripts: Script[]): Promise<ScriptedUpstream> {
    const upstream = new ScriptedUpstream(scripts);
    await new Promise<void>((resolve) => upstream.#server.listen(0, '127.0.0.1', resolve));
    return upstream;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, Json>;
    const seen = { path: request.url ?? '', body };
    this.seen.push(seen);
    const script = this.#scripts.length > 1 ? this.#scripts.shift() : this.#scripts[0];
    await script?.(seen, response);
  }
}
