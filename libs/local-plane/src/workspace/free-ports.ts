import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';

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
 * the last one is chosen, so that none comes twice.
 */
export async function freePorts(count: number, host = '127.0.0.1'): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen(0, host)));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map(close));
  return ports;
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
