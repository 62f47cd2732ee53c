import { request } from 'node:http';

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** Undefined when the body is no JSON. */
  readonly json: unknown;
}

export interface RawOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Null: no key header. */
  readonly key?: string | null;
  /** JSON body with its content type. */
  readonly json?: unknown;
}

/** One exchange, with nothing added that the caller did not ask for. */
export function raw(
  base: string,
  method: string,
  path: string,
  key: string,
  options: RawOptions = {},
): Promise<RawAnswer> {
  const body = options.json === undefined ? options.body : JSON.stringify(options.json);
  const apiKey = options.key === undefined ? key : options.key;
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(path, base), {
      method,
      headers: {
        ...(apiKey === null ? {} : { 'x-api-key': apiKey }),
        ...(options.json === undefined ? {} : { 'content-type': 'application/json' }),
        ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
        ...options.headers,
      },
    });
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        let json: unknown;
        try {
          json = JSON.parse(text) as unknown;
        } catch {
          json = undefined;
        }
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json });
      });
    });
    outgoing.end(body);
  });
}
