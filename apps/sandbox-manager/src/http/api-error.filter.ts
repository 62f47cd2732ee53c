import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Logger } from 'pino';
import { ApiError } from './errors.ts';
import type { ApiReply, ApiRequest } from './request.ts';
import { allowedMethod } from './routes.ts';

/** Marks a reply that must go out without a request id in its headers. */
export const UNHANDLED = Symbol('unhandled');

/** Turns everything thrown into the contract's bodies: also the router's own 404, which may be a 405 or a 307. */
@Catch()
export class ApiErrorFilter implements ExceptionFilter {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<ApiRequest>();
    const reply = http.getResponse<ApiReply>();
    if (reply.sent || reply.raw.destroyed) return;
    if (error instanceof ApiError) {
      void reply.status(error.status).headers(error.headers).send(error.body);
      return;
    }
    if (error instanceof HttpException && error.getStatus() === 404) {
      this.#unrouted(request, reply);
      return;
    }
    const status = statusOf(error);
    if (status !== null && status < 500) {
      void reply.status(status).send({ detail: error instanceof Error ? error.message : String(error) });
      return;
    }
    this.#log.error({ err: error, request_id: request.id, url: request.url }, 'request failed');
    Object.assign(reply, { [UNHANDLED]: true });
    const detail = error instanceof Error ? error.message : String(error);
    void reply.status(500).send({ error: 'Internal server error', detail, request_id: request.id });
  }

  #unrouted(request: ApiRequest, reply: ApiReply): void {
    const [path = '/', query] = request.url.split('?', 2);
    const allow = allowedMethod(path);
    if (allow !== null) {
      void reply.status(405).header('allow', allow).send({ detail: 'Method Not Allowed' });
      return;
    }
    const bare = path.replace(/\/$/, '');
    if (bare !== path && allowedMethod(bare) !== null) {
      const location = `http://${request.headers.host ?? 'localhost'}${bare}${query === undefined ? '' : `?${query}`}`;
      void reply.status(307).header('location', location).header('content-length', '0').send();
      return;
    }
    void reply.status(404).send({ detail: 'Not Found' });
  }
}

function statusOf(error: unknown): number | null {
  if (error instanceof HttpException) return error.getStatus();
  const status = (error as { statusCode?: unknown }).statusCode;
  return typeof status === 'number' ? status : null;
}
