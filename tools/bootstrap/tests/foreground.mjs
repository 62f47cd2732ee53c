import { spawn } from 'node:child_process';
import { whenParentEnds } from '../parent.mjs';

const running = new Set();

function endGroup(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // nothing of it is left
  }
}

/** Between SIGTERM and SIGKILL for a test runner. Milliseconds. */
const STOP_GRACE_MS = 10_000;

let stopping = false;
function stop() {
  for (const child of running) endGroup(child, stopping ? 'SIGKILL' : 'SIGTERM');
  if (stopping || running.size === 0) process.exit(130);
  stopping = true;
  setTimeout(stop, STOP_GRACE_MS).unref();
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop);
whenParentEnds(stop);

/**
 * Runs a test runner as the leader of a process group, and ends what is left of the group when it has ended: tests that
 * crash must not leave processes behind.
 *
 * @param {(line: string) => void} [onLine] takes standard output line by line; without it the terminal does.
 * @returns {Promise<number>} its exit code
 */
export function runInGroup(command, args, { cwd, env }, onLine) {
  return new Promise((resolve, reject) => {
    const stdout = onLine === undefined ? 'inherit' : 'pipe';
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', stdout, 'inherit'] });
    running.add(child);
    let rest = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) onLine(line);
    });
    child.once('error', reject);
    child.once('exit', () => endGroup(child, 'SIGKILL'));
    child.once('close', (code) => {
      running.delete(child);
      if (rest !== '') onLine(rest);
      if (stopping) process.exit(130);
      resolve(code ?? 1);
    });
  });
}
