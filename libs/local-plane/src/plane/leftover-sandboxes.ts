import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine, isAlive } from '../supervisor/signals.ts';
import { until } from '../workspace/until.ts';

/**
 * Ends the sandboxes of a sandbox-manager that has stopped for good. They are detached on purpose, so that they outlive its
 * restarts; when a whole plane stops nobody will come back for them, and waiting for their leases to lapse (a minute) would
 * leave processes behind.
 *
 * A sandbox is known by the command line of its outer process, which names its folder under the manager's state.
 *
 * @returns how many there were.
 */
export async function endLeftoverSandboxes(managerStateDir: string, graceMs = 5_000): Promise<number> {
  const mark = join(managerStateDir, 'sandboxes', '/');
  const left = processIds().filter((pid) => pid !== process.pid && commandLine(pid).includes(mark));
  const signal = (name: NodeJS.Signals): void => {
    for (const pid of left) {
      try {
        process.kill(pid, name);
      } catch {
        // ended meanwhile
      }
    }
  };
  const allGone = (): boolean => left.every((pid) => !isAlive(pid) || commandLine(pid) === '');
  signal('SIGTERM');
  if (!(await until(allGone, graceMs))) {
    signal('SIGKILL');
    await until(allGone, graceMs);
  }
  return left.length;
}

/** Local sandboxes exist on Linux alone. */
function processIds(): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}
