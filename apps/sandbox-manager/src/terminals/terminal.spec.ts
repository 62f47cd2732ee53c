import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { ManagerProcess } from '../testing/manager-process.ts';

interface TerminalFrame {
  readonly type: string;
  readonly data?: string;
  readonly code?: number;
  readonly message?: string;
}

// Real processes on a machine that may be busy with other suites.
vi.setConfig({ testTimeout: 120_000 });

const manager = new ManagerProcess();

beforeAll(async () => {
  await manager.start();
  const client = manager.client();
  await client.create({ sandboxId: 'pty', image: 'host' });
  await client.waitReady('pty');
  client.close();
}, 240_000);

afterAll(() => manager.dispose());

const address = (query: string, id = 'pty'): string =>
  `${manager.url.replace('http', 'ws')}/sandboxes/${id}/exec/pty${query}`;

/** A client that keeps what it sees. */
class Terminal {
  readonly frames: TerminalFrame[] = [];
  readonly socket: WebSocket;
  pings = 0;
  closeCode: number | null = null;

  constructor(init: unknown, protocols?: string[]) {
    this.socket = new WebSocket(address(protocols ? '' : `?api_key=${manager.key}`), protocols ?? []);
    this.socket.on('open', () => this.send(init));
    this.socket.on('message', (data: Buffer) => this.frames.push(JSON.parse(data.toString()) as TerminalFrame));
    this.socket.on('ping', () => (this.pings += 1));
    this.socket.on('close', (code) => (this.closeCode = code));
    this.socket.on('error', () => undefined);
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  type(text: string): void {
    this.send({ type: 'stdin', data: Buffer.from(text).toString('base64') });
  }

  get output(): string {
    return Buffer.concat(
      this.frames.filter((frame) => frame.type === 'stdout').map((frame) => Buffer.from(frame.data ?? '', 'base64')),
    ).toString();
  }

  find(type: string): TerminalFrame | undefined {
    return this.frames.find((frame) => frame.type === type);
  }

  async seen(type: string): Promise<TerminalFrame> {
    await expect.poll(() => this.find(type), { timeout: 20_000 }).toBeDefined();
    return this.find(type) as TerminalFrame;
  }
}

const init = (cmd: unknown, more: object = {}): object => ({ type: 'init', cmd, ...more });

describe('a terminal', () => {
  it('shows output, has a size and gives the exit code', async () => {
    const terminal = new Terminal(
      init(['bash', '-c', 'tty -s && stty size; echo "$X $TERM"; exit 7'], { env: { X: 'x y' } }),
    );
    expect((await terminal.seen('exit')).code).toBe(7);
    expect(terminal.frames[0]?.type).toBe('ready');
    expect(terminal.output).toBe('24 80\r\nx y xterm-256color\r\n');
    await expect.poll(() => terminal.closeCode).toBe(1000);
  });

  it('takes input, resizes and closes', async () => {
    const terminal = new Terminal(
      init(['bash', '-c', 'read line; echo "got $line"; stty size; exec cat'], { rows: 10, cols: 20 }),
    );
    await terminal.seen('ready');
    terminal.send('no json');
    terminal.send({ type: 'unknown' });
    terminal.send({ type: 'resize', rows: 50, cols: 200 });
    terminal.type('hello\n');
    await expect.poll(() => terminal.output, { timeout: 10_000 }).toContain('got hello\r\n50 200\r\n');
    terminal.send({ type: 'close' });
    expect((await terminal.seen('exit')).code).toBe(-15);
  });

  it('obeys a signal that follows ready at once, every time', async () => {
    const codes = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const terminal = new Terminal(init(['sleep', '60']));
        await terminal.seen('ready');
        terminal.send({ type: 'signal', sig: 'kill' });
        return (await terminal.seen('exit')).code;
      }),
    );
    expect(codes).toEqual(codes.map(() => -9));
  });

  it('tells a program that is missing or cannot run', async () => {
    const missing = new Terminal(init(['nosuchprogram']));
    expect((await missing.seen('exit')).code).toBe(127);
    expect(missing.output).toBe('pty_runner: command not found: nosuchprogram\r\n');
    const locked = new Terminal(init(['/etc/hosts']));
    expect((await locked.seen('exit')).code).toBe(126);
  });

  it.each([
    [{ type: 'stdin' }, 'bad init frame: first frame must be type=init'],
    [init([]), 'bad init frame: cmd must be a non-empty list of strings'],
    [init('ls'), 'bad init frame: cmd must be a non-empty list of strings'],
    [{ type: 'init' }, "bad init frame: 'cmd'"],
  ])('refuses to begin with %j', async (first, message) => {
    const terminal = new Terminal(first);
    expect((await terminal.seen('error')).message).toBe(message);
    await expect.poll(() => terminal.closeCode).toBe(1000);
  });

  it('carries a large paste and stays obedient', async () => {
    const terminal = new Terminal(
      init(['bash', '-c', 'stty raw -echo; echo go; sleep 0.3; head -c 300000 | wc -c; exec sleep 60']),
    );
    await expect.poll(() => terminal.output, { timeout: 10_000 }).toContain('go');
    terminal.type('x'.repeat(300_000));
    await expect.poll(() => terminal.output, { timeout: 20_000 }).toContain('300000');
    terminal.send({ type: 'signal', sig: 'TERM' });
    expect((await terminal.seen('exit')).code).toBe(-15);
  });

  it('pings in silence', async () => {
    const terminal = new Terminal(init(['sleep', '5']));
    expect((await terminal.seen('exit')).code).toBe(0);
    expect(terminal.pings).toBeGreaterThan(0);
  });

  it('ends the program when its client goes away', async () => {
    const terminal = new Terminal(init(['bash', '-c', 'sleep 7654 & sleep 7655']));
    await terminal.seen('ready');
    const client = manager.client();
    const running = async (): Promise<string> =>
      (await client.exec('pty', { command: 'pgrep -c -f "^sleep 765"' })).stdout.text.trim();
    await expect.poll(running, { timeout: 10_000 }).toBe('2');
    terminal.socket.terminate();
    await expect.poll(running, { timeout: 10_000 }).toBe('0');
    client.close();
  });

  it('takes the key as a sub-protocol, and echoes it', async () => {
    const terminal = new Terminal(init(['true']), [`api_key.${manager.key}`]);
    expect((await terminal.seen('exit')).code).toBe(0);
    expect(terminal.socket.protocol).toBe(`api_key.${manager.key}`);
  });

  it.each([
    ['', 'pty'],
    ['?api_key=wrong', 'pty'],
    ['?api_key=test-key', 'nope'],
  ])('refuses %j of %s', async (query, id) => {
    const status = await new Promise<number | undefined>((resolve) => {
      const socket = new WebSocket(address(query, id));
      socket.on('unexpected-response', (_request, response) => resolve(response.statusCode));
      socket.on('error', () => undefined);
    });
    expect(status).toBe(403);
  });
});
