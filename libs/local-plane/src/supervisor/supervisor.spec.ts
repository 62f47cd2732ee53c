import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../workspace/until.ts';
import type { ProcessSpec, ProcessStatus } from './process-spec.ts';
import { isAlive } from './signals.ts';
import { Supervisor } from './supervisor.ts';

const WAIT_MS = 20_000;

describe('Supervisor', { timeout: 60_000 }, () => {
  let dir: string;
  let supervisor: Supervisor;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'espalier-supervisor-'));
    supervisor = new Supervisor({ backoff: { firstMs: 20, maxMs: 200, stableAfterMs: 60_000 }, orphanGraceMs: 1_000 });
  });
  afterEach(async () => {
    await supervisor.stopAll();
    rmSync(dir, { recursive: true, force: true });
  });

  const script = (name: string, source: string, more: Partial<ProcessSpec> = {}): ProcessSpec => ({
    name,
    command: process.execPath,
    args: ['-e', source],
    cwd: dir,
    env: process.env,
    logFile: join(dir, `${name}.log`),
    stopGraceMs: 2_000,
    ...more,
  });
  const statusOf = (name: string): ProcessStatus => {
    const found = supervisor.status().find((status) => status.name === name);
    if (found === undefined) throw new Error(`no status of ${name}`);
    return found;
  };
  const pidOf = (name: string): number => {
    const { pid } = statusOf(name);
    if (pid === null) throw new Error(`${name} does not run`);
    return pid;
  };
  const idle = 'setInterval(() => {}, 1000)';

  it('runs a process under its own id, with its own environment, and logs what it says', async () => {
    await supervisor.start(
      script('talker', `console.log(process.pid, process.env.WORD); console.error('aloud'); ${idle}`, {
        env: { WORD: 'hello there' },
      }),
    );
    expect(await until(() => readFileSync(join(dir, 'talker.log'), 'utf8').includes('aloud'), WAIT_MS)).toBe(true);
    expect(readFileSync(join(dir, 'talker.log'), 'utf8')).toContain(`${pidOf('talker')} hello there`);
    expect(statusOf('talker')).toMatchObject({ state: 'ready', restarts: 0 });
  });

  it('counts a process as ready only when its probe says so', async () => {
    const flag = join(dir, 'flag');
    const starting = supervisor.start(script('slow', idle, { readiness: () => Promise.resolve(existsSync(flag)) }));
    expect(await until(() => statusOf('slow').state === 'starting', WAIT_MS)).toBe(true);
    writeFileSync(flag, '');
    await starting;
    expect(statusOf('slow').state).toBe('ready');
  });

  it('starts a process again that was killed, as a new one', async () => {
    await supervisor.start(script('phoenix', idle));
    const before = pidOf('phoenix');
    expect(supervisor.kill('phoenix')).toBe(true);
    expect(await until(() => statusOf('phoenix').restarts === 1, WAIT_MS)).toBe(true);
    await supervisor.ready('phoenix');
    expect(pidOf('phoenix')).not.toBe(before);
    expect(statusOf('phoenix').lastExit).toBe('SIGKILL');
    expect(isAlive(before)).toBe(false);
  });

  it('gives up on a process that cannot start, and shows its last words', async () => {
    const start = supervisor.start(
      script('broken', `console.error('bad configuration: WORD'); process.exit(3)`, {
        readiness: () => Promise.resolve(false),
      }),
    );
    await expect(start).rejects.toMatchObject({ code: 'PLANE_PROCESS_NOT_READY' });
    await expect(start).rejects.toThrow(/exit 3[\s\S]*bad configuration: WORD/);
    expect(statusOf('broken')).toMatchObject({ state: 'stopped', pid: null });
  });

  it('does not restart what must not be, and reports how it ended', async () => {
    await supervisor.start(script('once', idle, { restart: 'never' }));
    supervisor.kill('once', 'SIGTERM');
    expect(await until(() => statusOf('once').state === 'failed', WAIT_MS)).toBe(true);
    expect(statusOf('once')).toMatchObject({ restarts: 0, lastExit: 'SIGTERM', pid: null });
  });

  it('replaces a process that is alive but does not answer', async () => {
    let healthy = true;
    const liveness = (): Promise<boolean> => Promise.resolve(healthy);
    await supervisor.start(script('frozen', idle, { liveness, livenessEveryMs: 20, livenessFailures: 3 }));
    healthy = false;
    expect(await until(() => statusOf('frozen').restarts > 0, WAIT_MS)).toBe(true);
    healthy = true;
    await supervisor.ready('frozen');
  });

  it('stops politely first, then by force, even what is frozen', async () => {
    const polite = `process.on('SIGTERM', () => { console.log('goodbye'); process.exit(0) }); console.log('up'); ${idle}`;
    const deaf = `process.on('SIGTERM', () => {}); console.log('up'); ${idle}`;
    for (const [name, source] of [
      ['polite', polite],
      ['deaf', deaf],
      ['frozen', polite],
    ] as const) {
      const logFile = join(dir, `${name}.log`);
      const readiness = (): Promise<boolean> => Promise.resolve(readFileSync(logFile, 'utf8').includes('up'));
      await supervisor.start(script(name, source, { readiness, stopGraceMs: 1_000 }));
    }
    supervisor.kill('frozen', 'SIGSTOP');
    await supervisor.stopAll();
    expect(statusOf('polite').lastExit).toBe('exit 0');
    expect(readFileSync(join(dir, 'polite.log'), 'utf8')).toContain('goodbye');
    expect(statusOf('deaf').lastExit).toBe('SIGKILL');
    expect(statusOf('frozen').lastExit).toBe('exit 0');
    expect(supervisor.status().every(({ pid, state }) => pid === null && state === 'stopped')).toBe(true);
  });

  it('takes down what a process has started, when it ends and when it is stopped', async () => {
    const parent = `const { spawn } = require('node:child_process');
      const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
      require('node:fs').writeFileSync('child.pid', String(child.pid)); ${idle}`;
    const readiness = (): Promise<boolean> => Promise.resolve(readFileSync(join(dir, 'child.pid'), 'utf8') !== '');
    await supervisor.start(script('parent', parent, { readiness }));
    const child = Number(readFileSync(join(dir, 'child.pid'), 'utf8'));
    expect(isAlive(child)).toBe(true);
    await supervisor.stop('parent');
    expect(await until(() => !isRunning(child), WAIT_MS)).toBe(true);
  });

  it('stops in the order asked for', async () => {
    const trace = join(dir, 'trace');
    const source = (name: string): string =>
      `process.on('SIGTERM', () => { require('node:fs').appendFileSync('trace', '${name} '); process.exit(0) });
       require('node:fs').writeFileSync('${name}.up', ''); ${idle}`;
    for (const name of ['last', 'first', 'second']) {
      const readiness = (): Promise<boolean> => Promise.resolve(existsSync(join(dir, `${name}.up`)));
      await supervisor.start(script(name, source(name), { readiness }));
    }
    await supervisor.stopAll([['first'], ['second']]);
    expect(readFileSync(trace, 'utf8')).toBe('first second last ');
  });

  it('names the processes it knows when asked for another', () => {
    expect(() => supervisor.kill('nobody')).toThrow(/'nobody'/);
  });
});

describe('the death of the supervisor itself', { timeout: 60_000 }, () => {
  const children = {
    polite: `process.on('SIGTERM', () => { require('node:fs').writeFileSync('polite.said-goodbye', ''); process.exit() });`,
    deaf: `process.on('SIGTERM', () => {});`,
    parent: `const { pid } = require('node:child_process').spawn('sleep', ['1000'], { stdio: 'ignore' });
             require('node:fs').writeFileSync('grandchild.pid', String(pid));`,
  };

  it.each(['SIGKILL', 'SIGTERM'] as const)('by %s leaves nothing behind: polite, deaf or nested', async (signal) => {
    const dir = mkdtempSync(join(tmpdir(), 'espalier-orphans-'));
    const specs = Object.entries(children).map(([name, source]) => ({
      name,
      command: process.execPath,
      args: [
        '-e',
        `${source} require('node:fs').writeFileSync('${name}.pid', String(process.pid)); setInterval(() => {}, 1000)`,
      ],
      cwd: dir,
      logFile: join(dir, `${name}.log`),
    }));
    const program = `
      import { Supervisor } from ${JSON.stringify(new URL('supervisor.ts', import.meta.url).href)};
      const supervisor = new Supervisor({ orphanGraceMs: 1000 });
      for (const spec of ${JSON.stringify(specs)}) await supervisor.start({ ...spec, env: process.env });`;
    const host = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    try {
      const names = [...Object.keys(children), 'grandchild'].map((name) => join(dir, `${name}.pid`));
      expect(await until(() => names.every((name) => readFileSync(name, 'utf8') !== ''), WAIT_MS)).toBe(true);
      const pids = names.map((name) => Number(readFileSync(name, 'utf8')));
      expect(pids.every(isRunning)).toBe(true);

      const gone = once(host, 'exit');
      host.kill(signal);
      await gone;
      expect(await until(() => pids.every((pid) => !isRunning(pid)), WAIT_MS)).toBe(true);
      expect(existsSync(join(dir, 'polite.said-goodbye'))).toBe(true);
    } finally {
      host.kill('SIGKILL');
      rmSync(dir, { recursive: true, force: true });
    }
  });
});

/** Alive, and not a zombie that its new parent has not collected yet. */
function isRunning(pid: number): boolean {
  if (!isAlive(pid)) return false;
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout.trim() !== '' && !stdout.startsWith('Z');
}
