import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { endLeftoverSandboxes } from './leftover-sandboxes.ts';

describe('endLeftoverSandboxes', () => {
  it("ends what runs on this manager's sandboxes, deaf or not, and nothing else", async () => {
    const dir = mkdtempSync(join(tmpdir(), 'espalier-leftover-'));
    const program = join(dir, 'agent.mjs');
    writeFileSync(
      program,
      `if (process.argv[3] === 'deaf') process.on('SIGTERM', () => {});
       setInterval(() => {}, 1000); process.stdout.write('up');`,
    );
    const agent = async (managerDir: string, manner: string) => {
      const spec = join(dir, managerDir, 'sandboxes', 'sb-1', 'launch.json');
      const child = spawn(process.execPath, [program, spec, manner], { stdio: ['ignore', 'pipe', 'inherit'] });
      const gone = once(child, 'exit');
      await once(child.stdout, 'data');
      return { child, gone };
    };
    const polite = await agent('mine', 'polite');
    const deaf = await agent('mine', 'deaf');
    const other = await agent('other', 'polite');
    try {
      expect(await endLeftoverSandboxes(join(dir, 'mine'), 500)).toBe(2);
      expect(await polite.gone).toEqual([null, 'SIGTERM']);
      expect(await deaf.gone).toEqual([null, 'SIGKILL']);
      expect(other.child.exitCode).toBeNull();
      expect(await endLeftoverSandboxes(join(dir, 'mine'))).toBe(0);
    } finally {
      for (const { child } of [polite, deaf, other]) child.kill('SIGKILL');
      rmSync(dir, { recursive: true, force: true });
    }
  });
});
