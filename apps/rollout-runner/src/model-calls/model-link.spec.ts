import { setImmediate } from 'node:timers/promises';
import type { GatewayCall } from '@espalier/gateway';
import {
  ModelStreamLostError,
  ModelStreamStaleError,
  type ModelAnswer,
  type ModelCall,
  type ModelStreamEnd,
  type ModelStreamOptions,
} from '@espalier/sandbox-client';
import { describe, expect, it } from 'vitest';
import { ModelLink } from './model-link.ts';

const access = { address: 'unix:/none', token: 't', isolation: 'none', workdir: '/' };
const answer: ModelAnswer = { head: () => undefined, data: () => Promise.resolve(), end: () => undefined };
const call = (signal: AbortSignal): ModelCall => ({
  callNo: 1,
  key: 'k',
  method: 'POST',
  path: '/v1/chat/completions',
  headers: {},
  body: '',
  delivered: 0,
  signal,
});

/** A dialled stream that the spec ends. */
interface Dialled {
  readonly options: ModelStreamOptions;
  readonly end: (how: ModelStreamEnd) => void;
}

function link(failing: Error[] = []) {
  const dialled: Dialled[] = [];
  const calls: GatewayCall[] = [];
  const stale: ModelStreamStaleError[] = [];
  let onDial: () => void = () => undefined;
  const made = new ModelLink({
    access,
    epoch: 3,
    open: (_access, options) => {
      const error = failing.shift();
      if (error) return Promise.reject(error);
      const { promise, resolve } = Promise.withResolvers<ModelStreamEnd>();
      options.signal?.addEventListener('abort', () => resolve('aborted'), { once: true });
      dialled.push({ options, end: resolve });
      onDial();
      return Promise.resolve({ ended: promise, close: () => resolve('closed') });
    },
    handle: (given) => {
      calls.push(given);
      return Promise.resolve();
    },
    onStale: (error) => stale.push(error),
  });
  const nth = async (count: number): Promise<Dialled> => {
    while (dialled.length < count) await new Promise<void>((resolve) => (onDial = resolve));
    return dialled[count - 1] as Dialled;
  };
  return { made, calls, stale, nth, dialled };
}

describe('ModelLink', () => {
  it('dials again when the stream breaks or cannot be opened, with its epoch', async () => {
    const { made, nth } = link([new ModelStreamLostError('not yet')]);
    made.start();
    const first = await nth(1);
    await made.opened;
    expect(first.options.epoch).toBe(3);
    first.end('lost');
    await nth(2);
    await made.stop();
  });

  it('stops when a higher epoch has the sandbox', async () => {
    const { made, stale, dialled } = link([new ModelStreamStaleError('superseded')]);
    made.start();
    await made.stop();
    expect([stale.length, dialled.length]).toEqual([1, 0]);
  });

  it('tells a harness that gave a call up from a stream that broke', async () => {
    const { made, calls, nth } = link();
    made.start();
    const { options, end } = await nth(1);
    const harness = new AbortController();
    await options.onCall(call(harness.signal), answer);
    harness.abort(new Error('the harness went away'));
    await setImmediate();
    const stream = new AbortController();
    await options.onCall(call(stream.signal), answer);
    stream.abort(new Error('model stream lost'));
    end('lost');
    await nth(2);
    await setImmediate();
    expect(calls.map(({ abandoned }) => abandoned?.aborted)).toEqual([true, false]);
    await made.stop();
  });
});
