import { describe, expect, it } from 'vitest';
import { bindSandbox, type SandboxCalls } from './bind-sandbox.ts';

function client(state: string, exitCode: number | null): { calls: string[]; client: SandboxCalls } {
  const calls: string[] = [];
  const note = (name: string, ...details: unknown[]): void => {
    calls.push([name, ...details.map((detail) => JSON.stringify(detail))].join(' '));
  };
  return {
    calls,
    client: {
      exec: (id, { command }) => {
        note('exec', id, command);
        return Promise.resolve({ state, exitCode, stdout: { text: 'out' }, stderr: { text: 'err' }, error: 'why' });
      },
      putFile: (id, path, _, options) => Promise.resolve(note('putFile', id, path, options)),
      putArchive: (id, path) => Promise.resolve(note('putArchive', id, path)),
      getFile: (id, path) => Promise.resolve((note('getFile', id, path), Buffer.from('f'))),
      readArchive: (id, path) => Promise.resolve((note('readArchive', id, path), Buffer.from('a'))),
      delete: (id) => Promise.resolve(note('delete', id)),
    },
  };
}

describe('bindSandbox', () => {
  it('passes every call on for its sandbox', async () => {
    const { calls, client: fake } = client('exited', 3);
    const sandbox = bindSandbox(fake, 'sb');
    expect(await sandbox.exec({ command: 'x', timeoutMs: 1 })).toEqual({
      exitCode: 3,
      timedOut: false,
      stdout: 'out',
      stderr: 'err',
    });
    await sandbox.putFile('/a', Buffer.from(''), 0o755);
    await sandbox.putFile('/b', Buffer.from(''));
    await sandbox.putArchive('/c', Buffer.from(''));
    await sandbox.getFile('/d');
    await sandbox.getArchive('/e');
    await sandbox.close();
    expect(calls).toEqual([
      'exec "sb" "x"',
      'putFile "sb" "/a" {"mode":493}',
      'putFile "sb" "/b" {}',
      'putArchive "sb" "/c"',
      'getFile "sb" "/d"',
      'readArchive "sb" "/e"',
      'delete "sb"',
    ]);
  });

  it('resolves a time-out and rejects what never ran to an end', async () => {
    const request = { command: 'x', timeoutMs: 1 };
    expect(await bindSandbox(client('timed_out', null).client, 'sb').exec(request)).toMatchObject({ timedOut: true });
    await expect(bindSandbox(client('cancelled', null).client, 'sb').exec(request)).rejects.toMatchObject({
      code: 'SANDBOX_COMMAND',
      retryable: true,
    });
  });
});
