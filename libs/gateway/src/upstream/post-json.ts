import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { UpstreamError } from '../errors.ts';

/** An answer of a server, read whole. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
  /** The `retry-after` header, milliseconds; null without one. */
  readonly retryAfterMs: number | null;
}

/** How to post. */
export interface PostOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Most bytes of an answer: token ids and log-probs of a long answer take some megabytes as JSON. */
const MAX_BYTES = 256 * 1024 * 1024;

const http = new HttpAgent({ keepAlive: true, keepAliveMsecs: 5_000 });
const https = new HttpsAgent({ keepAlive: true, keepAliveMsecs: 5_000 });

function retryAfter(header: string | undefined): number | null {
  const seconds = Number(header);
  return header !== undefined && Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null;
}

/**
 * Posts JSON and reads the answer whole, whatever its status. The deadline covers the call from connect to the last byte:
 * `fetch` is not used because its own time-outs (five minutes without headers) are shorter than long generations.
 * Throws {@link UpstreamError} `LLM_TIMEOUT` or `LLM_UNAVAILABLE`; the signal's reason when that aborts.
 */
export function postJson(url: string, body: string, { headers, timeoutMs, signal }: PostOptions): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const secure = url.startsWith('https:');
    const bytes = Buffer.from(body);
    const send = secure ? httpsRequest : httpRequest;
    const outgoing = send(url, {
      method: 'POST',
      agent: secure ? https : http,
      headers: { 'content-type': 'application/json', 'content-length': bytes.length, ...headers },
    });
    const onAbort = (): void => void outgoing.destroy(signal.reason as Error);
    const timer = setTimeout(() => {
      outgoing.destroy(new UpstreamError('LLM_TIMEOUT', `${url}: no answer within ${timeoutMs} ms`, true));
    }, timeoutMs);
    const settle = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    };
    const fail = (error: Error): void => {
      settle();
      const known = error instanceof UpstreamError || error === signal.reason;
      reject(known ? error : new UpstreamError('LLM_UNAVAILABLE', `${url}: ${error.message}`, true, { cause: error }));
    };
    signal.addEventListener('abort', onAbort, { once: true });
    outgoing.once('error', fail);
    outgoing.once('response', (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size > MAX_BYTES)
          outgoing.destroy(new UpstreamError('LLM_BAD_ANSWER', `${url}: the answer is too large`, false));
      });
      response.once('error', fail);
      response.once('aborted', () => fail(new Error('the connection was cut in the middle of the answer')));
      response.once('end', () => {
        settle();
        resolve({
          status: response.statusCode ?? 0,
          body: Buffer.concat(chunks).toString('utf8'),
          retryAfterMs: retryAfter(response.headers['retry-after']),
        });
      });
    });
    outgoing.end(bytes);
  });
}
