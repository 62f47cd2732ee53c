import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { createHash, timingSafeEqual } from 'node:crypto';
import { parseJson } from '../validation/json-body.ts';
import { ApiError } from './errors.ts';
import { headerOf, rawBody, type ApiRequest } from './request.ts';

const OPEN = new Set(['/', '/health', '/docs', '/redoc', '/openapi.json']);
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The order of checks is the contract's: JSON syntax, then the key, then (in the handlers) validation. */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  readonly #keys: readonly Buffer[];
  readonly #required: boolean;

  constructor(keys: ReadonlySet<string>, required: boolean) {
    this.#keys = [...keys].map(digest);
    this.#required = required;
  }

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<ApiRequest>();
    const path = request.url.split('?', 1)[0] ?? '/';
    parseJson(rawBody(request));
    if (OPEN.has(path) || !this.#required) return true;
    if (this.#keys.length === 0) throw ApiError.of(500, 'Server misconfiguration: no API keys configured');
    const given = headerOf(request, 'x-api-key');
    if (given === null) throw ApiError.of(401, 'Missing API key. Please provide X-API-Key header.');
    const hashed = digest(given);
    // Every key is compared, so that the time says nothing about which one was near.
    if (this.#keys.filter((key) => timingSafeEqual(key, hashed)).length === 0)
      throw ApiError.of(403, 'Invalid API key');
    return true;
  }
}
