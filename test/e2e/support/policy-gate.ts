import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

/**
 * A proxy before the policy server that can be closed, or hold calls: what is in flight stays in flight until a test has
 * done its worst.
 */
export class PolicyGate {
  readonly #server: Server;
  readonly #port: number;
  #opened = Promise.withResolvers<void>();
  #asked = Promise.withResolvers<void>();

  /** Listens on `port` only once `listen` is called; `upstream` is the policy server's base URL, without `/v1`. */
  constructor(port: number, upstream: string) {
    this.#port = port;
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        this.#asked.resolve();
        void this.#opened.promise
          .then(() =>
            fetch(upstream + (request.url ?? ''), {
              method: request.method ?? 'POST',
              headers: { 'content-type': 'application/json' },
              body: Buffer.concat(chunks),
            }),
          )
          .then(async (answer) => {
            response.writeHead(answer.status, { 'content-type': 'application/json' });
            response.end(Buffer.from(await answer.arrayBuffer()));
          })
          .catch(() => request.socket.destroy());
      });
    });
  }

  /** What a run's policy endpoint is set to. */
  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}/v1`;
  }

  async listen(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Holds every call from now on. */
  hold(): void {
    this.#opened = Promise.withResolvers();
    this.#asked = Promise.withResolvers();
  }

  /** Lets all held calls through, and later ones at once. */
  open(): void {
    this.#opened.resolve();
  }

  /** Resolves when a call has come since the last `hold`. */
  asked(): Promise<void> {
    return this.#asked.promise;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
