import { request } from 'node:http';
import { ModelStreamLostError, ModelStreamStaleError } from '../errors.ts';
import { agentDestination } from '../http/destination.ts';
import type { AgentAccess } from '../types.ts';
import { ModelStreamSession } from './session.ts';
import type { ModelStream, ModelStreamOptions } from './types.ts';

/** How long the agent may take to answer the upgrade, milliseconds. */
const OPEN_TIMEOUT_MS = 10_000;

/**
 * Dials the agent and takes over the model calls of its sandbox, held ones first.
 * Throws {@link ModelStreamStaleError} when a higher epoch has been there, {@link ModelStreamLostError} otherwise.
 */
export function openModelStream(access: AgentAccess, options: ModelStreamOptions): Promise<ModelStream> {
  return new Promise((resolve, reject) => {
    const { signal } = options;
    if (signal?.aborted) {
      reject(new ModelStreamLostError('model stream: given up before it was opened'));
      return;
    }
    const dial = request({
      ...agentDestination(access.address),
      method: 'POST',
      path: '/v1/model',
      headers: {
        authorization: `Bearer ${access.token}`,
        connection: 'Upgrade',
        upgrade: 'espalier-model',
        'x-espalier-epoch': String(options.epoch),
      },
      // The stream must not share a pooled connection.
      agent: false,
      timeout: OPEN_TIMEOUT_MS,
    });
    const giveUp = (): void => void dial.destroy(new Error('given up by its caller'));
    signal?.addEventListener('abort', giveUp, { once: true });
    const settle = (): void => signal?.removeEventListener('abort', giveUp);

    dial.once('timeout', () => dial.destroy(new Error(`no answer within ${OPEN_TIMEOUT_MS} ms`)));
    dial.once('error', (cause) => {
      settle();
      reject(new ModelStreamLostError(`model stream to ${access.address}: ${cause.message}`, { cause }));
    });
    dial.once('response', (response) => {
      settle();
      response.resume();
      reject(
        response.statusCode === 409
          ? new ModelStreamStaleError(`model stream to ${access.address}: epoch ${options.epoch} is superseded`)
          : new ModelStreamLostError(`model stream to ${access.address}: the agent answered ${response.statusCode}`),
      );
    });
    dial.once('upgrade', (_response, socket, head) => {
      settle();
      socket.setNoDelay?.(true);
      socket.setTimeout(0);
      resolve(new ModelStreamSession(socket, head, options));
    });
    dial.end();
  });
}
