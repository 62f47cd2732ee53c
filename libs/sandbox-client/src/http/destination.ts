import type { RequestOptions } from 'node:http';
import { SandboxRequestError } from '../errors.ts';

/** Connection options for `unix:/path` or `tcp:host:port`. */
export function agentDestination(address: string): Pick<RequestOptions, 'socketPath' | 'host' | 'port'> {
  if (address.startsWith('unix:')) return { socketPath: address.slice('unix:'.length) };
  const match = /^tcp:(.+):(\d+)$/.exec(address);
  if (!match) throw new SandboxRequestError(`agent address "${address}" is neither unix:/path nor tcp:host:port`, 400);
  return { host: (match[1] ?? '').replace(/^\[|\]$/g, ''), port: Number(match[2]) };
}
