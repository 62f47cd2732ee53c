import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import type { RawBody } from '../validation/json-body.ts';

export type ApiRequest = FastifyRequest;
export type ApiReply = FastifyReply;

/** The buffered body of a request (empty when it has none). */
export function rawBody(request: ApiRequest): RawBody {
  const contentType = request.headers['content-type'] ?? '';
  return { contentType, bytes: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0) };
}

/** The unread body of a route that streams. */
export function bodyStream(request: ApiRequest): Readable {
  return request.body instanceof Object && 'pipe' in request.body ? (request.body as Readable) : request.raw;
}

/** First value of a query parameter. */
export function queryFields(request: ApiRequest): Record<string, unknown> {
  const query = request.query as Record<string, string | string[]>;
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, Array.isArray(value) ? value.at(-1) : value]),
  );
}

/** First value of a header. */
export function headerOf(request: ApiRequest, name: string): string | null {
  const value = request.headers[name];
  const first = Array.isArray(value) ? value[0] : value;
  return first === undefined || first === '' ? null : first;
}
