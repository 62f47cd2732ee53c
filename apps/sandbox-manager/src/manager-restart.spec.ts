import { openObjectStore } from '@espalier/objects';
import type { SandboxClient } from '@espalier/sandbox-client';
import { packFiles } from '@espalier/tasks';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { killProcesses, processesWith } from './drivers/local/processes.ts';
import { ManagerProcess } from './testing/manager-process.ts';

// Real processes on a machine that may be busy with other suites.
vi.setConfig({ testTimeout: 120_000 });

const manager = new ManagerProcess();
let client: SandboxClient;

beforeAll(async () => {
  await manager.start();
  client = manager.client();
}, 240_000);

afterAll(async () => {
  client.close();
  await manager.dispose();
});

async function ready(id: string): Promise<void> {
  await client.create({ sandboxId: id, image: 'host' });
  await client.waitReady(id);
}

describe('a manager that is killed and started again', () => {
  it('finds its sandboxes and the jobs that went on without it', async () => {
    await ready('survivor');
    const jobId = await client.startJob('survivor', {
      command: 'echo begun >> /tmp/runs; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo done',
      idempotencyKey: 'once',
    });
    await expect
      .poll(async () => (await client.exec('survivor', { command: 'cat /tmp/runs' })).stdout.text)
      .toBe('begun\n');
    await manager.end('SIGKILL');
    await manager.start();
    expect((await client.get('survivor')).status).toBe('ready');
    expect((await client.getJob(jobId)).state).toBe('running');
    // The same key again: the same job, whatever manager answers.
    expect(await client.startJob('survivor', { command: 'echo other', idempotencyKey: 'once' })).toBe(jobId);
    await client.exec('survivor', { command: 'touch /tmp/go' });
    const job = await client.exec('survivor', { command: 'echo other', idempotencyKey: 'once' });
    expect(job).toMatchObject({ jobId, state: 'exited', exitCode: 0 });
    expect(job.stdout.text).toBe('done\n');
    expect((await client.exec('survivor', { command: 'cat /tmp/runs' })).stdout.text).toBe('begun\n');
    await client.delete('survivor');
  });

  it('loses and repeats none of the commands that were under way', async () => {
    await ready('busy');
    const commands = Array.from({ length: 40 }, (_, index) =>
      client.exec('busy', { command: `sleep 0.${index % 10}; echo ${index} >> /tmp/log; echo ${index}` }),
    );
    // Killed while some are queued at the agent, some are running and some have ended.
    await expect
      .poll(async () => (await client.listJobs('busy')).filter((job) => job.state === 'exited').length)
      .toBeGreaterThan(3);
    await manager.end('SIGKILL');
    await manager.start();
    const jobs = await Promise.all(commands);
    expect(jobs.map((job) => job.stdout.text)).toEqual(commands.map((_, index) => `${index}\n`));
    const log = (await client.exec('busy', { command: 'sort -n /tmp/log' })).stdout.text;
    expect(log).toBe(commands.map((_, index) => `${index}\n`).join(''));
    await client.delete('busy');
  });

  it('sees that a sandbox ended in its absence', async () => {
    await ready('victim');
    const pending = client.startJob('victim', { command: 'sleep 600' });
    const jobId = await pending;
    await manager.end('SIGKILL');
    const { processes } = manager.leftovers();
    expect(processes.some((line) => line.includes('--sandbox victim'))).toBe(true);
    await killProcesses('--sandbox victim --instance', 10_000);
    await manager.start();
    expect((await client.get('victim')).status).toBe('failed');
    expect((await client.getJob(jobId)).state).toBe('lost');
    await expect(client.exec('victim', { command: 'true' })).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
    await client.delete('victim');
    expect(manager.leftovers()).toEqual({ processes: [], mounts: [], directories: [] });
  });

  it('creates what it was asked for but had not finished', async () => {
    const created = Promise.allSettled(
      Array.from({ length: 6 }, (_, index) => client.create({ sandboxId: `half${index}`, image: 'host' })),
    );
    await manager.end('SIGKILL');
    await manager.start();
    await created;
    for (let index = 0; index < 6; index += 1) {
      await client.create({ sandboxId: `half${index}`, image: 'host' });
      await client.waitReady(`half${index}`);
      expect((await client.exec(`half${index}`, { command: 'echo ok' })).stdout.text).toBe('ok\n');
      await client.delete(`half${index}`);
    }
    expect(manager.leftovers()).toEqual({ processes: [], mounts: [], directories: [] });
  });

  it('ends a build with the manager that began it', async () => {
    const tar = await packFiles([
      { path: 'environment/Dockerfile', mode: 0o644, content: Buffer.from('FROM x\nRUN sleep 4321\n') },
    ]);
    const store = openObjectStore(manager.objectsUrl);
    const { key, sha256 } = await store.put(tar, { prefix: 'packages', mediaType: 'application/x-tar' });
    await client.create({ sandboxId: 'unbuilt', image: 'x', taskPackage: { key, sha256 } });
    await expect.poll(() => processesWith('sleep 4321').length, { timeout: 15_000 }).toBeGreaterThan(0);
    await manager.end('SIGKILL');
    await expect.poll(() => processesWith('sleep 4321').length, { timeout: 15_000 }).toBe(0);
    expect(manager.leftovers().processes).toEqual([]);
    await manager.start();
    // Taken up again, then given up with the only sandbox that needed it.
    await client.delete('unbuilt');
    await expect
      .poll(() => manager.leftovers(), { timeout: 15_000 })
      .toEqual({ processes: [], mounts: [], directories: [] });
  });

  it('loses a sandbox as a whole when its outer process is killed', async () => {
    await ready('outer');
    await client.startJob('outer', { command: 'setsid sleep 4322 & sleep 4323' });
    await expect.poll(() => processesWith('sleep 432').length, { timeout: 15_000 }).toBeGreaterThan(1);
    const outer = processesWith('--sandbox outer --instance').toSorted((a, b) => a - b)[0];
    process.kill(outer ?? -1, 'SIGKILL');
    await expect.poll(() => processesWith('sleep 432').length, { timeout: 15_000 }).toBe(0);
    await expect.poll(async () => (await client.get('outer')).status, { timeout: 15_000 }).toBe('failed');
    await client.delete('outer');
  });

  it('does not share its state directory', async () => {
    const second = new ManagerProcess();
    await expect(second.start({ ESPALIER_STATE_DIR: manager.stateDir })).rejects.toThrow(/is in use by process/);
    await second.dispose();
  });
});
