import { createHmac, timingSafeEqual } from 'node:crypto';
import { CapabilityError } from '../errors.ts';

/** What a token lets its holder do: ask the policy, or the judge, for one attempt. */
export type CapabilityRole = 'policy' | 'judge';

/** The scope of a token. */
export interface Capability {
  readonly attemptId: string;
  readonly role: CapabilityRole;
  /** Milliseconds UTC. */
  readonly expiresAt: number;
}

const VERSION = 'esp1';
const MIN_KEY_BYTES = 16;

/**
 * Issues and checks capability tokens: HMAC-SHA256 over attempt, role and expiry. Any gateway with the same key can check
 * a token; nothing is stored.
 */
export class CapabilityKey {
  readonly #key: Buffer;

  /** Throws `CAPABILITY_INVALID` for keys under 16 bytes. */
  constructor(key: string | Uint8Array) {
    this.#key = Buffer.from(key as Uint8Array);
    if (this.#key.length < MIN_KEY_BYTES) {
      throw new CapabilityError('CAPABILITY_INVALID', `the capability key must have at least ${MIN_KEY_BYTES} bytes`);
    }
  }

  issue({ attemptId, role, expiresAt }: Capability): string {
    const claims = `${VERSION}.${Buffer.from(attemptId).toString('base64url')}.${role}.${Math.floor(expiresAt).toString(36)}`;
    return `${claims}.${this.#sign(claims)}`;
  }

  /** The scope of a token. Throws {@link CapabilityError} when it was not issued with this key, was changed, or is over. */
  verify(token: string, now: number): Capability {
    const at = token.lastIndexOf('.');
    const claims = token.slice(0, Math.max(0, at));
    const given = Buffer.from(token.slice(at + 1));
    const wanted = Buffer.from(this.#sign(claims));
    if (at < 0 || given.length !== wanted.length || !timingSafeEqual(given, wanted)) {
      throw new CapabilityError('CAPABILITY_INVALID', 'the API key is not a capability token of this plane');
    }
    const [version, attempt = '', role, expiry = ''] = claims.split('.');
    const expiresAt = Number.parseInt(expiry, 36);
    if (version !== VERSION || (role !== 'policy' && role !== 'judge') || !Number.isSafeInteger(expiresAt)) {
      throw new CapabilityError('CAPABILITY_INVALID', 'the capability token has a form this gateway does not know');
    }
    if (expiresAt <= now) throw new CapabilityError('CAPABILITY_EXPIRED', 'the capability token has expired');
    return { attemptId: Buffer.from(attempt, 'base64url').toString(), role, expiresAt };
  }

  #sign(claims: string): string {
    return createHmac('sha256', this.#key).update(claims).digest('base64url');
  }
}

/** Path under which a harness finds the model of its attempt; append `/v1/...`. */
export const attemptPath = (attemptId: string): string => `/a/${Buffer.from(attemptId).toString('base64url')}`;

/** Splits a request path into the attempt it names (null without one) and the route below. */
export function splitAttemptPath(path: string): { readonly attemptId: string | null; readonly route: string } {
  const route = path.split('?', 1)[0] ?? '';
  const match = /^\/a\/([A-Za-z0-9_-]+)(\/.*)?$/.exec(route);
  if (!match) return { attemptId: null, route };
  return { attemptId: Buffer.from(match[1] ?? '', 'base64url').toString(), route: match[2] ?? '/' };
}

/** The token of a request: `Authorization: Bearer`, or the key headers that other clients send. */
export function tokenOf(headers: Readonly<Record<string, string>>): string | null {
  const bearer = /^Bearer\s+(\S+)$/i.exec(headers['authorization'] ?? '')?.[1];
  return bearer ?? headers['x-api-key'] ?? headers['api-key'] ?? null;
}
