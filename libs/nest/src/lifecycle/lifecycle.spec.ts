import { expect, it } from 'vitest';
import { Lifecycle } from './lifecycle.ts';

const logger = { info: () => undefined, warn: () => undefined, error: () => undefined };

it('starts in order, drains together, stops in the reverse order, and says what it is not ready for', async () => {
  const said: string[] = [];
  const lifecycle = new Lifecycle(logger);
  let ready = false;
  const part = (name: string) => ({
    start: () => void said.push(`start ${name}`),
    drain: (deadlineMs: number) => {
      said.push(`drain ${name} ${deadlineMs} while ${lifecycle.phase}`);
      return Promise.resolve();
    },
    stop: () => void said.push(`stop ${name}`),
    healthy: () => name !== 'b',
    ready: () => ready,
  });
  lifecycle.add('a', part('a'));
  lifecycle.add('b', part('b'));
  expect(lifecycle.notReady()).toEqual(['starting']);
  await lifecycle.start();
  expect(lifecycle.notReady()).toEqual(['a', 'b']);
  ready = true;
  expect(lifecycle.notReady()).toEqual([]);
  expect(lifecycle.unhealthy()).toEqual(['b']);
  await lifecycle.stop(5);
  expect(lifecycle.notReady()).toEqual(['stopped']);
  expect(said).toEqual([
    'start a',
    'start b',
    'drain a 5 while draining',
    'drain b 5 while draining',
    'stop b',
    'stop a',
  ]);
});

it('stops the others when one fails to', async () => {
  const said: string[] = [];
  const lifecycle = new Lifecycle(logger);
  lifecycle.add('a', { stop: () => void said.push('a') });
  lifecycle.add('b', { stop: () => Promise.reject(new Error('no')) });
  await lifecycle.start();
  await lifecycle.stop(0);
  expect(said).toEqual(['a']);
});

it('hands a fault that nothing mends to whoever ends the process', () => {
  const lifecycle = new Lifecycle(logger);
  const faults: Error[] = [];
  lifecycle.onFail((error) => faults.push(error));
  lifecycle.fail(new Error('fenced'));
  expect(faults.map(({ message }) => message)).toEqual(['fenced']);
});
