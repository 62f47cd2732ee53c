import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

/** A judge that never judges: it answers with JSON of another form, or, asked as the model `silent`, not at all. */
export class BrokenJudge {
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { model } = JSON.parse(Buffer.concat(chunks).toString()) as { model: string };
        if (model === 'silent') return;
        const content = JSON.stringify({ verdict: 'splendid', R1: 'eleven' });
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content } }] }));
      });
    });
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
