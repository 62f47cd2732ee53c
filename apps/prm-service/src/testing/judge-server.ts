import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { JudgeMessage } from '../judge/prompt.ts';

/** How a scripted judge answers one request. */
export type JudgeAnswer =
  | { readonly kind: 'content'; readonly content: string }
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'cut' }
  | { readonly kind: 'silent' };

/** For specs: an OpenAI-compatible judge that answers from a script; the last answer repeats. */
export class JudgeServer {
  readonly requests: {
    messages: JudgeMessage[];
    temperature: number;
    model: string;
    authorization: string | undefined;
  }[] = [];
  script: ((asked: string[]) => JudgeAnswer)[] = [];
  #server: Server | undefined;

  async listen(): Promise<string> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = JSON.parse(Buffer.concat(chunks).toString()) as JudgeServer['requests'][number];
        this.requests.push({ ...body, authorization: request.headers.authorization });
        const answer = this.script[Math.min(this.requests.length, this.script.length) - 1];
        const prompt = body.messages[1]?.content ?? '';
        const asked = [...prompt.matchAll(/^(R\d) /gm)].map((match) => match[1] ?? '');
        const given = answer?.(asked) ?? { kind: 'status', status: 500 };
        switch (given.kind) {
          case 'content':
            response.setHeader('content-type', 'application/json');
            response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content: given.content } }] }));
            return;
          case 'status':
            response.statusCode = given.status;
            response.end('no');
            return;
          case 'cut':
            request.socket.destroy();
            return;
          case 'silent':
            return;
        }
      });
    });
    this.#server = server;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    return `http://127.0.0.1:${address.port}/v1`;
  }

  async close(): Promise<void> {
    this.#server?.closeAllConnections();
    this.#server?.close();
    if (this.#server) await once(this.#server, 'close');
  }
}

/** An answer in the right form, every value the same. */
export const valued =
  (value: number, notes = 'fine') =>
  (asked: string[]): JudgeAnswer => ({
    kind: 'content',
    content: JSON.stringify({ ...Object.fromEntries(asked.map((key) => [key, value])), notes }),
  });

export const says = (content: string) => (): JudgeAnswer => ({ kind: 'content', content });
