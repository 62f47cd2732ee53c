import { agentDestination, type AgentAccess } from '@espalier/sandbox-client';
import { request } from 'node:http';
import type { Duplex } from 'node:stream';

const OPEN_TIMEOUT_MS = 5_000;

/** Opens a terminal session at an agent: frames of `u32 BE length, JSON` both ways. */
export function dialTerminal(access: AgentAccess): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const dial = request({
      ...agentDestination(access.address),
      method: 'POST',
      path: '/v1/terminal',
      agent: false,
      timeout: OPEN_TIMEOUT_MS,
      headers: { authorization: `Bearer ${access.token}`, connection: 'Upgrade', upgrade: 'espalier-terminal' },
    });
    dial.once('timeout', () => dial.destroy(new Error(`no answer within ${OPEN_TIMEOUT_MS} ms`)));
    dial.once('error', reject);
    dial.once('response', (response) => {
      response.resume();
      reject(new Error(`the agent answered ${response.statusCode}`));
    });
    dial.once('upgrade', (_response, socket, head) => {
      socket.setTimeout(0);
      socket.pause();
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    dial.end();
  });
}

/** One message as the agent reads it. */
export function encodeMessage(text: Buffer): Buffer {
  const message = Buffer.allocUnsafe(4 + text.length);
  message.writeUInt32BE(text.length, 0);
  message.set(text, 4);
  return message;
}

/** Cuts the agent's bytes into messages. */
export class MessageReader {
  #pending: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): Buffer[] {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const messages: Buffer[] = [];
    let at = 0;
    while (this.#pending.length >= at + 4) {
      const length = this.#pending.readUInt32BE(at);
      if (this.#pending.length < at + 4 + length) break;
      messages.push(this.#pending.subarray(at + 4, at + 4 + length));
      at += 4 + length;
    }
    this.#pending = this.#pending.subarray(at);
    return messages;
  }
}
