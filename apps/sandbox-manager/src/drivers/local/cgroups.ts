import { existsSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const ROOT = '/sys/fs/cgroup';
const CONTROLLERS = ['memory', 'pids', 'cpu', ''];

/** Removes the cgroups of an ended sandbox. The kernel lets go of them a moment after the last process. */
export async function removeCgroups(name: string): Promise<void> {
  for (const controller of CONTROLLERS) {
    const directory = join(ROOT, controller, name);
    for (let tries = 0; existsSync(directory) && tries < 50; tries += 1) {
      try {
        rmdirSync(directory);
      } catch {
        await delay(10);
      }
    }
  }
}

/** Names of all groups below `espalier/` that begin with `prefix`. */
export function cgroupsOf(prefix: string): string[] {
  const names = CONTROLLERS.flatMap((controller) => {
    try {
      return readdirSync(join(ROOT, controller, 'espalier')).filter((name) => name.startsWith(prefix));
    } catch {
      return [];
    }
  });
  return [...new Set(names)];
}
