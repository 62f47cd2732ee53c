import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { brokerAnswers } from '../kafka/broker-probe.ts';
import { isAlive } from '../supervisor/signals.ts';
import { repositoryRoot } from '../workspace/repository-root.ts';
import { until } from '../workspace/until.ts';
import type { Plane } from './plane.ts';
import { openPlaneLog } from './plane-log.ts';
import { runningPlane, stopRunningPlane } from './plane-state.ts';
import type { PlaneState } from './plane-state.ts';
import { startPlane } from './start-plane.ts';

const WAIT_MS = 60_000;

/** A service that does nothing but report its environment: what is tested here is the plane around it. */
const SERVICE = `
import { createServer } from 'node:http';
import { appendFileSync } from 'node:fs';
const wanted = Object.entries(process.env).filter(([name]) => name.startsWith('ESPALIER_'));
const answer = (request, response) => response.end(JSON.stringify(Object.fromEntries(wanted)));
createServer(answer).listen(Number(process.env.ESPALIER_METRICS_PORT), '127.0.0.1');
if (process.env.ESPALIER_HTTP_PORT) createServer(answer).listen(Number(process.env.ESPALIER_HTTP_PORT), '127.0.0.1');
process.on('SIGTERM', () => {
  appendFileSync(process.env.STOP_TRACE, process.env.ESPALIER_INSTANCE + '\\n');
  process.exit(0);
});
`;

describe('a plane', { timeout: 120_000 }, () => {
  let root: string;
  let dir: string;
  let trace: string;
  let plane: Plane;
  const services = ['sandbox-manager', 'rollout-runner', 'trainer-gateway'] as const;

  const statusOf = (name: string) => plane.status().find((status) => status.name === name);
  const environmentOf = async (name: string): Promise<Record<string, string>> => {
    const response = await fetch(`http://127.0.0.1:${statusOf(name)?.ports?.metrics}/`);
    return (await response.json()) as Record<string, string>;
  };

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'espalier-plane-'));
    dir = join(root, 'data');
    trace = join(root, 'stopped');
    for (const service of services) {
      const dist = join(root, 'apps', service, 'dist');
      mkdirSync(dist, { recursive: true });
      writeFileSync(join(root, 'apps', service, 'package.json'), '{ "type": "module" }');
      writeFileSync(join(dist, 'main.js'), SERVICE);
    }
    plane = await startPlane({
      root,
      dir,
      isolated: true,
      services,
      replicas: { 'rollout-runner': 2 },
      env: { STOP_TRACE: trace },
      serviceEnv: { 'rollout-runner': { ESPALIER_SLOTS: '3' } },
    });
  }, 120_000);
  afterAll(async () => {
    await plane.stop();
    rmSync(root, { recursive: true, force: true });
  });

  it('runs its services, each with what it needs to find the others', async () => {
    const runner = await environmentOf('rollout-runner-2');
    const manager = await environmentOf('sandbox-manager');
    expect(runner).toMatchObject({
      ESPALIER_INSTANCE: 'rollout-runner-2',
      ESPALIER_KAFKA_BROKERS: plane.brokers[0],
      ESPALIER_PREFIX: plane.prefix,
      ESPALIER_SANDBOX_URL: plane.url('sandbox-manager'),
      ESPALIER_GATEWAY_URL: plane.url('trainer-gateway'),
      ESPALIER_SLOTS: '3',
    });
    expect(manager['ESPALIER_SANDBOX_API_KEY']).toBe(runner['ESPALIER_SANDBOX_API_KEY']);
    expect(manager['ESPALIER_CAPABILITY_KEY']).toBe(runner['ESPALIER_CAPABILITY_KEY']);
    expect(manager['ESPALIER_STATE_DIR']).not.toBe(runner['ESPALIER_STATE_DIR']);
    expect(manager).not.toHaveProperty('ESPALIER_SLOTS');
  });

  it('keeps its secrets to its user, and out of the state file', () => {
    const file = join(dir, 'secrets', 'sandbox-api-key');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(dir, 'plane.json'), 'utf8')).not.toContain(readFileSync(file, 'utf8'));
  });

  it('shows its processes to others', () => {
    const seen = runningPlane(dir);
    expect(seen).toMatchObject({ pid: process.pid, prefix: plane.prefix, brokers: plane.brokers, embeddedKafka: true });
    expect(seen?.processes.map(({ name, state }) => `${name} ${state}`).sort()).toEqual([
      'kafka ready',
      'rollout-runner ready',
      'rollout-runner-2 ready',
      'sandbox-manager ready',
      'trainer-gateway ready',
    ]);
  });

  it('brings a service and the broker back after SIGKILL', async () => {
    for (const name of ['trainer-gateway', 'kafka']) {
      const before = statusOf(name)?.pid;
      plane.kill(name);
      expect(await until(() => statusOf(name)?.restarts === 1, WAIT_MS)).toBe(true);
      await plane.ready(name);
      expect(statusOf(name)?.pid).not.toBe(before);
    }
    expect(await brokerAnswers(plane.brokers)).toBe(true);
    expect(runningPlane(dir)?.processes.find(({ name }) => name === 'kafka')?.restarts).toBe(1);
  });

  it('lets readers use its broker', async () => {
    const log = await openPlaneLog({ root, dir });
    expect(log).toMatchObject({ brokers: plane.brokers, prefix: plane.prefix, borrowed: false });
    await log.close();
    expect(await brokerAnswers(plane.brokers)).toBe(true);
  });

  it('refuses a second plane on the same folder', async () => {
    await expect(startPlane({ root, dir, isolated: true, services })).rejects.toMatchObject({
      code: 'PLANE_ALREADY_RUNNING',
    });
  });

  it('names a service that is not built, and leaves nothing running', async () => {
    const other = join(root, 'other');
    const start = startPlane({ root, dir: other, isolated: true, services: ['prm-service'], brokers: plane.brokers });
    await expect(start).rejects.toMatchObject({ code: 'PLANE_SERVICE_NOT_BUILT' });
    await expect(start).rejects.toThrow('prm-service');
    expect(runningPlane(other)).toBeNull();
  });

  it('uses brokers of yours instead of its own', async () => {
    const other = join(root, 'guest');
    const guest = await startPlane({
      root,
      dir: other,
      isolated: true,
      services: ['trainer-gateway'],
      brokers: plane.brokers,
      env: { STOP_TRACE: join(root, 'guest-stopped') },
    });
    expect(guest.status().map(({ name }) => name)).toEqual(['trainer-gateway']);
    expect(existsSync(join(other, 'kafka'))).toBe(false);
    await guest.stop();
    expect(await brokerAnswers(plane.brokers)).toBe(true);
  });

  it('stops in order: work, coordination, sandboxes, and the log last', async () => {
    const pids = plane.status().map(({ pid }) => pid);
    await plane.stop();
    const order = readFileSync(trace, 'utf8').trim().split('\n').slice(-4);
    expect(order.slice(0, 2).sort()).toEqual(['rollout-runner', 'rollout-runner-2']);
    expect(order.slice(2)).toEqual(['trainer-gateway', 'sandbox-manager']);
    expect(pids.filter((pid) => pid !== null && isAlive(pid))).toEqual([]);
    expect(runningPlane(dir)).toBeNull();
  });

  it('can be read when it is down, but not before it ever ran', async () => {
    await expect(openPlaneLog({ root, dir: join(root, 'never') })).rejects.toMatchObject({ code: 'PLANE_NOT_RUNNING' });
    const log = await openPlaneLog({ root, dir });
    expect(log.borrowed).toBe(true);
    expect(await brokerAnswers(log.brokers)).toBe(true);
    await log.close();
    expect(await brokerAnswers(log.brokers, 500)).toBe(false);
  });

  it.each(['stopped by another process', 'killed'] as const)('leaves nothing behind when %s', async (how) => {
    const own = join(root, how);
    const index = join(repositoryRoot(), 'libs', 'local-plane', 'src', 'index.ts');
    const options = {
      root,
      dir: own,
      isolated: true,
      services: ['rollout-runner'],
      env: { STOP_TRACE: join(root, how, 'trace') },
    };
    const program = `
      import { startPlane, stopOnSignals } from ${JSON.stringify(index)};
      await stopOnSignals(await startPlane(${JSON.stringify(options)}));`;
    const host = spawn(
      process.execPath,
      ['--conditions=@espalier/source', '--no-warnings', '--input-type=module', '-e', program],
      { stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, ESPALIER_ROOT: repositoryRoot() } },
    );
    const gone = once(host, 'exit');
    let seen: PlaneState | null = null;
    const allReady = (): boolean => {
      seen = runningPlane(own);
      return seen?.processes.length === 2 && seen.processes.every(({ state }) => state === 'ready');
    };
    expect(await until(allReady, WAIT_MS)).toBe(true);
    const pids = (seen as PlaneState | null)?.processes.map(({ pid }) => pid ?? 0) ?? [];
    expect(pids).toHaveLength(2);

    if (how === 'killed') host.kill('SIGKILL');
    else expect(await stopRunningPlane(own)).toBe(true);
    await gone;
    expect(await until(() => pids.every((pid) => !isAlive(pid)), WAIT_MS)).toBe(true);
    expect(runningPlane(own)).toBeNull();
  });
});
