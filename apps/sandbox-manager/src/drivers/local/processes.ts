import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** The command line of a process, words separated by spaces; null when there is no such process. */
export function commandLineOf(pid: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').trim();
    return text === '' ? null : text;
  } catch {
    return null;
  }
}

/** Pids whose command line holds `text`. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    return Number.isInteger(pid) && pid !== process.pid && commandLineOf(pid)?.includes(text) === true ? [pid] : [];
  });
}

/** Whether `pid` lives and is the process that carries `nonce`. */
export const isProcess = (pid: number, nonce: string): boolean => commandLineOf(pid)?.includes(nonce) === true;

/** Kills every process that carries `nonce`, inner ones first, and waits until none is left. */
export async function killProcesses(nonce: string, deadlineMs: number): Promise<boolean> {
  const deadline = performance.now() + deadlineMs;
  for (let pause = 1; ;) {
    // The inner process is PID 1 of the sandbox: with it the kernel ends all the rest. It has the higher pid.
    const found = processesWith(nonce).toSorted((a, b) => b - a);
    if (found.length === 0) return true;
    if (performance.now() > deadline) return false;
    for (const pid of found) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended meanwhile.
      }
    }
    // Reading all of /proc costs milliseconds: until these are gone, only they are looked at.
    do {
      await delay(pause);
      pause = Math.min(pause * 2, 20);
    } while (found.some((pid) => isProcess(pid, nonce)) && performance.now() <= deadline);
  }
}
