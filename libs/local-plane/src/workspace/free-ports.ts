import { createServer, type Server } from 'node:net';

/**
 * Below the range from which systems give outgoing connections their ports (32768 on Linux), above the plane's fixed ones:
 * a port chosen here is not taken by somebody's connection before its service listens.
 */
const FIRST = 10_000;
const LAST = 28_999;
const MAX_TRIES = 2_000;

const listen = (port: number, host: string): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => resolve(server));
  });

const close = (server: Server): Promise<void> =>
  new Promise((resolve, reject) => server.close((error) => (error ? reject(error) : resolve())));

/**
 * `count` different TCP ports of the loopback interface that nobody listens on at this moment. All are held open until
 * the last one is chosen, so that none comes twice. Throws RangeError when there are not as many.
 */
export async function freePorts(count: number, host = '127.0.0.1'): Promise<number[]> {
  const held = new Map<number, Server>();
  try {
    for (let tries = 0; held.size < count; tries += 1) {
      if (tries > MAX_TRIES) throw new RangeError(`no ${count} free ports between ${FIRST} and ${LAST}`);
      const port = FIRST + Math.floor(Math.random() * (LAST - FIRST + 1));
      if (held.has(port)) continue;
      const server = await listen(port, host).catch(() => undefined);
      if (server) held.set(port, server);
    }
    return [...held.keys()];
  } finally {
    await Promise.all([...held.values()].map(close));
  }
}

/** Whether nobody listens on `port` of the loopback interface. */
export async function isPortFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  try {
    await close(await listen(port, host));
    return true;
  } catch {
    return false;
  }
}
