import { SandboxFileError, SandboxLostError, SandboxRequestError, type SandboxClient } from '@espalier/sandbox-client';
import { openObjectStore } from '@espalier/objects';
import { packFiles } from '@espalier/tasks';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { ManagerProcess } from './testing/manager-process.ts';

// Real processes on a machine that may be busy with other suites.
vi.setConfig({ testTimeout: 120_000 });

const manager = new ManagerProcess();
let client: SandboxClient;
let counter = 0;

beforeAll(async () => {
  await manager.start();
  client = manager.client();
}, 240_000);

afterAll(async () => {
  client.close();
  await manager.dispose();
});

const made: string[] = [];

afterEach(async () => {
  await Promise.all(made.splice(0).map((id) => client.delete(id)));
});

async function sandbox(more: Partial<Parameters<SandboxClient['create']>[0]> = {}): Promise<string> {
  counter += 1;
  const id = `t${counter}`;
  await client.create({ sandboxId: id, image: 'host', ...more });
  made.push(id);
  await client.waitReady(id);
  return id;
}

const run = (id: string, command: string, timeoutMs = 30_000): ReturnType<SandboxClient['exec']> =>
  client.exec(id, { command, timeoutMs });

describe('a local sandbox', () => {
  it('runs commands as asked and tells how they ended', async () => {
    const id = await sandbox({ env: { COLOUR: 'green' } });
    const job = await client.exec(id, {
      command: 'echo "$COLOUR $SIZE"; cat; echo err >&2; exit 3',
      env: { SIZE: 'L' },
      stdin: 'in\n',
    });
    expect(job).toMatchObject({ state: 'exited', exitCode: 3, signal: null });
    expect(job.stdout.text).toBe('green L\nin\n');
    expect(job.stderr.text).toBe('err\n');
    expect((await client.exec(id, { argv: ['printf', '%s|', 'a  b', '$X;id'] })).stdout.text).toBe('a  b|$X;id|');
    expect(await run(id, 'kill -9 $$')).toMatchObject({ state: 'exited', exitCode: null, signal: 'SIGKILL' });
    expect(await client.exec(id, { command: 'true', cwd: '/nowhere' })).toMatchObject({ exitCode: 126 });
  });

  it('is isolated: no network, no host folders, no capabilities, no way into the agent', async () => {
    const id = await sandbox();
    const probe = await run(
      id,
      [
        'ls -A /root /home /work /srv /mnt 2>/dev/null | grep -v ":$" | grep -c . || true',
        `ls ${manager.directory} 2>&1 | grep -c "No such file"`,
        'tail -n +3 /proc/net/dev | grep -vc lo:',
        'grep CapEff /proc/self/status | cut -f2',
        'cat /proc/1/environ 2>&1 | grep -c denied',
        'kill -TERM 1; kill -KILL 1; kill -SEGV 1; kill -QUIT 1; echo alive',
        'cat /etc/shadow',
      ].join('\n'),
    );
    expect(probe.stdout.text.trim().split('\n')).toEqual([
      '0',
      '1',
      '0',
      '0000000000000000',
      '1',
      'alive',
      'root:*:19000:0:99999:7:::',
    ]);
  });

  it('keeps what is written below its disk limit and off the host', async () => {
    const id = await sandbox();
    const job = await run(
      id,
      'touch /etc/marker-espalier /usr/marker-espalier && rm /etc/hostname; ls /etc/marker-espalier',
    );
    expect(job.exitCode).toBe(0);
    const other = await sandbox();
    expect((await run(other, 'ls /etc/marker-espalier /usr/marker-espalier')).exitCode).not.toBe(0);
  });

  it('ends the tree of a command that runs out of time, and nothing else', async () => {
    const id = await sandbox();
    await run(id, 'sleep 7777 & sleep 7778 & true');
    const job = await run(
      id,
      'echo partial; sleep 8881 & setsid sleep 8882 & (setsid sh -c "sleep 8883" &); sleep 8884',
      700,
    );
    expect(job).toMatchObject({ state: 'timed_out', exitCode: null });
    expect(job.stdout.text).toBe('partial\n');
    const left = await run(id, 'pgrep -af sleep');
    expect(left.stdout.text).toMatch(/sleep 7777[\s\S]*sleep 7778/);
    expect(left.stdout.text).not.toMatch(/sleep 888/);
  });

  it('kills what ignores TERM', async () => {
    const id = await sandbox();
    const job = await run(id, `trap '' TERM; echo deaf; while :; do sleep 0.1; done`, 500);
    expect(job.state).toBe('timed_out');
    expect((await run(id, 'pgrep -fc "[d]eaf"')).stdout.text.trim()).toBe('0');
  });

  it('is not held by processes in the background', async () => {
    const id = await sandbox();
    const job = await run(id, 'sleep 1000 & echo started');
    expect(job).toMatchObject({ state: 'exited', exitCode: 0 });
    expect(job.stdout.text).toBe('started\n');
    expect((await run(id, 'pgrep -c sleep')).stdout.text.trim()).toBe('1');
  });

  it('bounds output to its head and tail and counts all of it', async () => {
    const id = await sandbox();
    const job = await client.exec(id, {
      command: 'echo FIRST; head -c 30000000 /dev/zero | tr "\\0" x; echo; echo LAST',
      maxOutputBytes: 4096,
    });
    expect(job.stdout.bytes).toBe(30_000_000 + 12);
    expect(job.stdout.truncated).toBe(true);
    expect(job.stdout.head.length + job.stdout.tail.length).toBe(4096);
    expect(job.stdout.text.startsWith('FIRST\nx')).toBe(true);
    expect(job.stdout.text.endsWith('x\nLAST\n')).toBe(true);
  });

  it('cancels a command and its children', async () => {
    const id = await sandbox();
    const jobId = await client.startJob(id, { command: 'sleep 6661 & sleep 6662' });
    await expect.poll(async () => (await run(id, 'pgrep -f "sleep 666" | wc -l')).stdout.text.trim()).toMatch(/^[2-9]/);
    expect((await client.cancelJob(jobId)).state).toBe('cancelled');
    expect((await run(id, 'pgrep -x sleep')).exitCode).toBe(1);
  });

  it('moves files and trees, and does not hang on what is none', async () => {
    const id = await sandbox();
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 256));
    await client.putFile(id, '/workspace/deep/er/data.bin', bytes, { mode: 0o750 });
    expect(await client.getFile(id, '/workspace/deep/er/data.bin')).toEqual(bytes);
    await run(
      id,
      'cd /workspace; mkfifo pipe; ln -s /nowhere dangling; ln -s deep/er/data.bin link; echo x > "é name"',
    );
    expect((await client.listFiles(id, '/workspace')).map((entry) => entry.name)).toEqual([
      'dangling',
      'deep',
      'link',
      'pipe',
      'é name',
    ]);
    await expect(client.getFile(id, '/workspace/pipe')).rejects.toMatchObject({ code: 'SANDBOX_FILE', missing: false });
    await expect(client.getFile(id, '/workspace/deep')).rejects.toBeInstanceOf(SandboxFileError);
    await expect(client.getFile(id, '/workspace/none')).rejects.toMatchObject({ missing: true });
    const tar = await client.readArchive(id, '/workspace');
    const other = await sandbox();
    await client.putArchive(other, '/copy', tar);
    const copy = await run(
      other,
      'cd /copy; stat -c %a deep/er/data.bin; readlink link dangling; cat "é name"; test -p pipe && echo fifo',
    );
    expect(copy.stdout.text).toBe('750\ndeep/er/data.bin\n/nowhere\nx\nfifo\n');
    expect(await client.readArchive(other, '/copy')).toEqual(tar);
  });

  it('leaves nothing behind', async () => {
    const ids = await Promise.all([sandbox(), sandbox(), sandbox()]);
    await Promise.all(ids.map((id) => run(id, 'setsid sleep 5000 & sleep 5001 & true')));
    await Promise.all(ids.map((id) => client.delete(id)));
    expect(manager.leftovers()).toEqual({ processes: [], mounts: [], directories: [] });
    await expect(run(ids[0], 'true')).rejects.toBeInstanceOf(SandboxLostError);
  });

  it('is created once per id and specification', async () => {
    const id = await sandbox({ owner: 'a' });
    await run(id, 'echo kept > /tmp/kept');
    await client.create({ sandboxId: id, image: 'host', owner: 'a' });
    expect((await run(id, 'cat /tmp/kept')).stdout.text).toBe('kept\n');
    await expect(client.create({ sandboxId: id, image: 'host', owner: 'b' })).rejects.toBeInstanceOf(
      SandboxRequestError,
    );
  });

  it('ends itself when its lease lapses, and a heartbeat keeps it', async () => {
    const id = await sandbox({ leaseSeconds: 2 });
    for (let beat = 0; beat < 3; beat += 1) {
      await delay(1_000);
      await client.heartbeat(id);
    }
    expect((await run(id, 'echo alive')).stdout.text).toBe('alive\n');
    await expect.poll(async () => (await client.get(id)).status, { timeout: 20_000 }).toBe('failed');
    await expect(client.heartbeat(id)).rejects.toBeInstanceOf(SandboxLostError);
  });
});

describe('an image from a Dockerfile', () => {
  const file = (path: string, text: string, mode: 0o644 | 0o755 = 0o644) => ({
    path,
    mode,
    content: Buffer.from(text),
  });

  async function packageOf(dockerfile: string): Promise<{ key: string; sha256: string }> {
    const tar = await packFiles([
      file('task.toml', '[task]\nname = "a/b"\n'),
      file('environment/Dockerfile', dockerfile),
      file('environment/src/main.py', 'print("hi")\n'),
    ]);
    const store = openObjectStore(manager.objectsUrl);
    const { key, sha256 } = await store.put(tar, { prefix: 'packages', mediaType: 'application/x-tar' });
    return { key, sha256 };
  }

  it('is built once and lies below every sandbox of the task', async () => {
    const taskPackage = await packageOf(
      'FROM python:3.11\nENV WHO=you\nWORKDIR /app\nCOPY src/ src/\nRUN echo "hi $WHO" > greeting && date +%N > built && rm -rf /usr/share/doc/bash\n',
    );
    const first = await sandbox({ taskPackage });
    const one = await run(
      first,
      'pwd; cat greeting; python3 src/main.py; ls /usr/share/doc/bash 2>&1 | grep -c cannot; cat built; rm greeting',
    );
    const second = await sandbox({ taskPackage });
    const two = await run(
      second,
      'pwd; cat greeting; python3 src/main.py; ls /usr/share/doc/bash 2>&1 | grep -c cannot; cat built',
    );
    expect(one.stdout.text).toMatch(/^\/app\nhi you\nhi\n1\n\d+\n$/);
    expect(two.stdout.text).toBe(one.stdout.text);
  });

  it('fails with the line that cannot be honoured or that failed', async () => {
    for (const [dockerfile, message] of [
      ['FROM x\nRUN echo doomed; exit 9\n', /line 2: .* ended with 9: doomed/],
      ['FROM x\nCOPY absent /\n', /line 2: COPY absent matches no file/],
      ['FROM x\nUSER app\n', /line 2: USER/],
    ] as const) {
      counter += 1;
      await client.create({ sandboxId: `t${counter}`, image: 'x', taskPackage: await packageOf(dockerfile) });
      await expect(client.waitReady(`t${counter}`)).rejects.toMatchObject({
        code: 'SANDBOX_CREATE',
        retryable: false,
        message: expect.stringMatching(message) as unknown,
      });
      await client.delete(`t${counter}`);
    }
  });
});
