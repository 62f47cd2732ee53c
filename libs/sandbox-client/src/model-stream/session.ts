import type { Socket } from 'node:net';
import { ModelFrameError } from '../errors.ts';
import { encodeFrame, FrameReader, frameType, type Frame } from './frames.ts';
import type { ModelAnswer, ModelCall, ModelStream, ModelStreamEnd, ModelStreamOptions } from './types.ts';

const DEFAULT_SILENCE_MS = 20_000;

interface CallJson {
  readonly key: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly delivered: number;
}

/** The runner's end of an upgraded connection. */
export class ModelStreamSession implements ModelStream {
  readonly ended: Promise<ModelStreamEnd>;
  readonly #socket: Socket;
  readonly #options: ModelStreamOptions;
  readonly #reader = new FrameReader();
  readonly #calls = new Map<number, AbortController>();
  readonly #resolveEnded: (end: ModelStreamEnd) => void;
  readonly #onAbort: () => void;
  readonly #silence: NodeJS.Timeout;
  #over = false;

  constructor(socket: Socket, head: Buffer, options: ModelStreamOptions) {
    this.#socket = socket;
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<ModelStreamEnd>();
    this.ended = promise;
    this.#resolveEnded = resolve;
    this.#onAbort = () => this.#finish('aborted');
    const silenceMs = options.silenceMs ?? DEFAULT_SILENCE_MS;
    // The agent pings, so silence means that it, or the way to it, is gone.
    this.#silence = setTimeout(() => this.#finish('lost'), silenceMs);
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
    socket.on('data', (chunk: Buffer) => {
      this.#silence.refresh();
      this.#receive(chunk);
    });
    socket.once('error', () => this.#finish('lost'));
    socket.once('close', () => this.#finish('lost'));
    if (head.length > 0) this.#receive(head);
    // The upgrade may have left the socket paused.
    socket.resume();
  }

  close(): void {
    this.#finish('closed');
  }

  #receive(chunk: Buffer): void {
    try {
      for (const frame of this.#reader.push(chunk)) this.#handle(frame);
    } catch (error) {
      if (!(error instanceof ModelFrameError) && !(error instanceof SyntaxError)) throw error;
      this.#finish('lost');
    }
  }

  #handle(frame: Frame): void {
    switch (frame.type) {
      case frameType.call:
        this.#start(frame.callNo, JSON.parse(frame.payload.toString('utf8')) as CallJson);
        return;
      case frameType.abort:
        this.#calls.get(frame.callNo)?.abort(new Error('the harness went away'));
        this.#calls.delete(frame.callNo);
        return;
      case frameType.ping:
        this.#write(encodeFrame(frameType.pong, frame.callNo));
        return;
      default:
        // Unknown types are for newer agents.
        return;
    }
  }

  #start(callNo: number, json: CallJson): void {
    const controller = new AbortController();
    this.#calls.set(callNo, controller);
    let headSent = false;
    let done = false;
    const live = (): boolean => !done && !controller.signal.aborted && !this.#over;
    const answer: ModelAnswer = {
      head: (status, headers) => {
        if (!live() || headSent) return;
        headSent = true;
        this.#write(encodeFrame(frameType.head, callNo, Buffer.from(JSON.stringify({ status, headers }))));
      },
      data: (bytes) => {
        if (!live()) return Promise.resolve();
        return this.#writeAll(encodeFrame(frameType.data, callNo, Buffer.from(bytes as Uint8Array)));
      },
      end: () => {
        if (!live()) return;
        done = true;
        this.#calls.delete(callNo);
        this.#write(encodeFrame(frameType.end, callNo));
      },
    };
    const call: ModelCall = { callNo, ...json, signal: controller.signal };
    this.#options.onCall(call, answer).catch((error: unknown) => {
      if (!live()) return;
      if (headSent || json.delivered > 0) {
        // A half answer cannot be taken back; a new stream asks for the rest of it.
        this.#finish('lost');
        return;
      }
      const message = error instanceof Error ? error.message : String(error);
      answer.head(502, { 'content-type': 'application/json' });
      void answer.data(JSON.stringify({ error: { type: 'api_error', message } }));
      answer.end();
    });
  }

  #write(bytes: Buffer): void {
    if (!this.#over && this.#socket.writable) this.#socket.write(bytes);
  }

  #writeAll(bytes: Buffer): Promise<void> {
    if (this.#over || !this.#socket.writable) return Promise.resolve();
    return new Promise((resolve) => {
      // Errors surface through the socket's own events.
      this.#socket.write(bytes, () => resolve());
    });
  }

  #finish(end: ModelStreamEnd): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#silence);
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    for (const controller of this.#calls.values()) controller.abort(new Error(`model stream ${end}`));
    this.#calls.clear();
    if (end === 'closed') this.#socket.end();
    else this.#socket.destroy();
    this.#resolveEnded(end);
  }
}
