import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { freePorts, isPortFree } from './free-ports.ts';

it('gives different ports below the range of outgoing connections, on which one can listen', async () => {
  const ports = await freePorts(30);
  expect(new Set(ports).size).toBe(30);
  for (const port of ports) expect(port).toBeLessThan(32_768);
  const [port = 0] = ports;
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  expect(await isPortFree(port)).toBe(false);
  await new Promise((resolve) => server.close(resolve));
  expect(await isPortFree(port)).toBe(true);
});
