import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { WebSocketServer, type WebSocket } from 'ws';
import type { SandboxesService } from '../sandboxes/sandboxes.service.ts';
import { dialTerminal, encodeMessage, MessageReader } from './agent-terminal.ts';

/** Orchard's sync client gives up after ten silent seconds. */
const PING_MS = 4_000;
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** Output that a slow client may be behind, before the program is held. */
const MAX_BUFFERED_BYTES = 1024 * 1024;
const AGENT_UNREACHABLE = 4503;

const PATH = /^\/sandboxes\/([^/?]+)\/exec\/pty(?:\?(.*))?$/;
const KEY_PROTOCOL = 'api_key.';
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

export interface TerminalGatewayOptions {
  readonly apiKeys: ReadonlySet<string>;
  readonly requireApiKey: boolean;
}

/** `WS /sandboxes/X/exec/pty`: passes text frames between clients and agents, unread. */
export class TerminalGateway {
  readonly #sandboxes: SandboxesService;
  readonly #options: TerminalGatewayOptions;
  readonly #log: Logger;
  readonly #keys: readonly Buffer[];
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    // Strict clients refuse an answer without the sub-protocol that they offered.
    handleProtocols: (offered) => [...offered].find((name) => name.startsWith(KEY_PROTOCOL)) ?? false,
  });

  constructor(sandboxes: SandboxesService, options: TerminalGatewayOptions, log: Logger) {
    this.#sandboxes = sandboxes;
    this.#options = options;
    this.#log = log;
    this.#keys = [...options.apiKeys].map(digest);
  }

  /** Takes the upgrades of an HTTP server. */
  attach(server: Server): void {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => socket.destroy());
      const match = PATH.exec(request.url ?? '');
      if (!match) {
        refuse(socket, 404);
        return;
      }
      const id = decodeURIComponent(match[1] ?? '');
      // Refusals come before the handshake: clients see a plain 403.
      if (!this.#authorised(request, match[2] ?? '') || !this.#reachable(id)) {
        refuse(socket, 403);
        return;
      }
      this.#server.handleUpgrade(request, socket, head, (client) => {
        this.#connect(id, client).catch((error: unknown) => {
          this.#log.error({ err: error, sandbox_id: id }, 'terminal failed');
          client.terminate();
        });
      });
    });
  }

  close(): void {
    for (const client of this.#server.clients) client.close(1001);
    this.#server.close();
  }

  #reachable(id: string): boolean {
    return this.#sandboxes.isLatched(id) && this.#sandboxes.driver.access(id) !== undefined;
  }

  #authorised(request: IncomingMessage, query: string): boolean {
    if (!this.#options.requireApiKey) return true;
    const inQuery = /(?:^|&)api_key=([^&]*)/.exec(query)?.[1];
    const inProtocol = (request.headers['sec-websocket-protocol'] ?? '')
      .split(',')
      .map((name) => name.trim())
      .find((name) => name.startsWith(KEY_PROTOCOL))
      ?.slice(KEY_PROTOCOL.length);
    const given = inQuery === undefined || inQuery === '' ? inProtocol : safeDecode(inQuery);
    if (given === undefined || given === '') return false;
    const hashed = digest(given);
    return this.#keys.filter((key) => timingSafeEqual(key, hashed)).length > 0;
  }

  async #connect(id: string, client: WebSocket): Promise<void> {
    // Frames that come before the agent is reached wait in the socket.
    client.pause();
    client.on('error', () => client.terminate());
    const access = this.#sandboxes.driver.access(id);
    let agent: Duplex;
    try {
      if (!access) throw new Error(`Sandbox ${id} has ended`);
      agent = await dialTerminal(access);
    } catch (error) {
      const message = `agent unreachable: ${error instanceof Error ? error.message : String(error)}`;
      client.resume();
      client.send(JSON.stringify({ type: 'error', message }));
      client.close(AGENT_UNREACHABLE);
      return;
    }
    const ping = setInterval(() => {
      this.#sandboxes.touch(id);
      client.ping();
    }, PING_MS);
    const end = (): void => {
      clearInterval(ping);
      agent.destroy();
      client.close(1000);
    };
    client.once('close', end);
    client.on('message', (data: Buffer, binary: boolean) => {
      if (binary) {
        end();
        return;
      }
      if (!agent.write(encodeMessage(data))) client.pause();
    });
    agent.on('drain', () => client.resume());
    const messages = new MessageReader();
    agent.on('data', (chunk: Buffer) => {
      for (const message of messages.push(chunk))
        client.send(message, { binary: false }, () => {
          if (agent.isPaused() && client.bufferedAmount < MAX_BUFFERED_BYTES) agent.resume();
        });
      if (client.bufferedAmount > MAX_BUFFERED_BYTES) agent.pause();
    });
    agent.once('error', end);
    agent.once('end', end);
    agent.once('close', end);
    client.resume();
    agent.resume();
  }
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function refuse(socket: Duplex, status: number): void {
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
