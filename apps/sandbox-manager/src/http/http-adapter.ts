import { FastifyAdapter } from '@nestjs/platform-fastify';
import { randomUUID } from 'node:crypto';
import { UNHANDLED } from './api-error.filter.ts';

/** Longer than the client's own idle limit, so that the client closes first. */
const KEEP_ALIVE_MS = 125_000;
/** Routes whose body is passed on unread. */
const STREAMED = /^\/sandboxes\/[^/]+\/(?:archive|files\/raw)(?:\?|$)/;

/** Fastify, told to behave as Orchard's clients expect: see docs on the contract's transport rules. */
export function createHttpAdapter(): FastifyAdapter {
  const adapter = new FastifyAdapter({
    genReqId: () => randomUUID(),
    exposeHeadRoutes: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: 0,
    connectionTimeout: 0,
    // Whole files travel as base64 in one JSON body.
    bodyLimit: 2 ** 31 - 1,
    routerOptions: { maxParamLength: 4096 },
    forceCloseConnections: 'idle',
  });
  const fastify = adapter.getInstance();
  fastify.server.headersTimeout = KEEP_ALIVE_MS + 5_000;
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', (request, payload, done) => {
    if (STREAMED.test(request.url)) {
      done(null, payload);
      return;
    }
    const chunks: Buffer[] = [];
    payload.on('data', (chunk: Buffer) => chunks.push(chunk));
    payload.once('end', () => done(null, Buffer.concat(chunks)));
    payload.once('error', done);
  });
  fastify.addHook('onSend', (request, reply, payload, done) => {
    if (!(UNHANDLED in reply)) reply.header('x-request-id', request.id);
    const type = reply.getHeader('content-type');
    if (typeof type === 'string' && type.startsWith('application/json'))
      reply.header('content-type', 'application/json');
    done(null, payload);
  });
  return adapter;
}
