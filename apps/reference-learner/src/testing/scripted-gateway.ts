import { createServer, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { encodeBody } from '@espalier/avro';
import type { BatchSampleDraft } from '@espalier/contracts';

/** A batch as a spec scripts it. */
export interface ScriptedBatch {
  readonly digest: string;
  readonly samples: readonly BatchSampleDraft[];
}

/** What to do with a request: carry it out, lose it before or after, or fail. */
export type Interference = (method: string, path: string) => 'serve' | 'lose-request' | 'lose-answer' | 'fail';

/** For specs: the gateway's learner API over scripted batches, with the rules of the run processor's learner sessions. */
export class ScriptedGateway {
  readonly requests: string[] = [];
  readonly acknowledged: { seq: number; checkpoint: string; epoch: number }[] = [];
  readonly published: { phase: string; version: number; after: number }[] = [];
  epoch = 0;
  interfere: Interference = () => 'serve';
  readonly #batches: readonly ScriptedBatch[];
  readonly #checkpoints = new Map<string, number>();
  readonly #versions = new Map<number, number>();
  #server: Server | undefined;
  #trained = 0;

  constructor(batches: readonly ScriptedBatch[]) {
    this.#batches = batches;
  }

  async listen(): Promise<string> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const path = request.url ?? '';
        const method = request.method ?? '';
        this.requests.push(`${method} ${path}`);
        const decision = this.interfere(method, path);
        if (decision === 'lose-request') {
          request.socket.destroy();
          return;
        }
        if (decision === 'fail') {
          json(response, 503, { code: 'UNAVAILABLE', message: 'not now' });
          return;
        }
        const body =
          chunks.length === 0 ? {} : (JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>);
        if (decision === 'lose-answer') {
          this.#answer(method, path, body, undefined);
          request.socket.destroy();
        } else this.#answer(method, path, body, response);
      });
    });
    this.#server = server;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    return `http://127.0.0.1:${address.port}`;
  }

  async close(): Promise<void> {
    this.#server?.closeAllConnections();
    this.#server?.close();
    if (this.#server) await once(this.#server, 'close');
  }

  /** Another learner opens a session. */
  takeOver(): void {
    this.epoch++;
  }

  #answer(method: string, path: string, body: Record<string, unknown>, response: ServerResponse | undefined): void {
    const url = new URL(path, 'http://gateway');
    const reply = (status: number, value: object): void => json(response, status, value);
    const stale = (epoch: unknown): boolean => {
      if (Number(epoch) >= this.epoch) return false;
      reply(409, { code: 'STALE_LEARNER', message: `session ${Number(epoch)} has ended` });
      return true;
    };
    if (method === 'POST' && url.pathname.endsWith('/learner')) {
      const base = body['checkpoint'] == null ? 0 : this.#checkpoints.get(text(body['checkpoint']));
      if (base === undefined) return reply(404, { code: 'CHECKPOINT_UNKNOWN', message: text(body['checkpoint']) });
      this.epoch++;
      this.#trained = base;
      return reply(200, { accepted: true, learner_epoch: this.epoch, next_seq: base + 1 });
    }
    if (url.pathname.endsWith('/batches/next')) {
      if (stale(url.searchParams.get('learner_epoch'))) return;
      const seq = Number(url.searchParams.get('after')) + 1;
      const batch = this.#batches[seq - 1];
      // Two batches may be out unacknowledged.
      if (batch && seq <= this.#trained + 2)
        return reply(200, {
          batch_id: `run/batch/${seq}`,
          seq,
          partial: false,
          digest: batch.digest,
          entries: batch.samples.map(({ trajectory_id }) => ({ trajectory_id })),
          samples_url: `/v1/runs/run/batches/${seq}/samples`,
        });
      return reply(410, { code: 'RUN_ENDED', message: 'no more' });
    }
    const samples = /\/batches\/(\d+)\/samples$/.exec(url.pathname);
    if (samples) {
      const records = (this.#batches[Number(samples[1]) - 1]?.samples ?? []).map((sample) => {
        const record = encodeBody('batch.samples', sample);
        const length = Buffer.alloc(4);
        length.writeUInt32BE(record.length);
        return Buffer.concat([length, record]);
      });
      response?.writeHead(200, { 'content-type': 'application/vnd.espalier.samples+avro' }).end(Buffer.concat(records));
      return;
    }
    const ack = /\/batches\/(\d+)\/ack$/.exec(url.pathname);
    if (ack) {
      if (stale(body['learner_epoch'])) return;
      const seq = Number(ack[1]);
      const checkpoint = text(body['checkpoint']);
      this.#trained = Math.max(this.#trained, seq);
      this.#checkpoints.set(checkpoint, this.#trained);
      this.acknowledged.push({ seq, checkpoint, epoch: Number(body['learner_epoch']) });
      return reply(200, { accepted: true });
    }
    if (stale(body['learner_epoch'])) return;
    const version = Number(body['version']);
    const after = Number(body['after_batch']);
    const known = this.#versions.get(version);
    if (known !== undefined && known !== after) return reply(409, { code: 'VERSION_DIFFERS', message: String(known) });
    if (known === undefined && version <= Math.max(0, ...this.#versions.keys()))
      return reply(409, { code: 'VERSION_NOT_NEW', message: 'take a higher one' });
    if (body['phase'] === 'READY') this.#versions.set(version, after);
    this.published.push({ phase: text(body['phase']), version, after });
    reply(200, { accepted: true });
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

function json(response: ServerResponse | undefined, status: number, value: object): void {
  response?.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
