import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { now } from './clock.ts';

/** The machine that figures were measured on. */
export interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
}

export const machine = (): Machine => ({
  cores: cpus().length,
  cpu: cpus()[0]?.model ?? 'unknown',
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  kernel: release(),
  node: process.version,
});

/** Load average of the last minute. */
export const load = (): number => loadavg()[0] ?? Number.NaN;

/** Busy CPU seconds of the whole machine since it started. */
function busySeconds(): number {
  const [, user = '0', nice = '0', system = '0', , , irq = '0', softirq = '0'] =
    readFileSync('/proc/stat', 'utf8').split('\n')[0]?.trim().split(/\s+/) ?? [];
  return [user, nice, system, irq, softirq].reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
}

/** Starts to watch how many cores are busy; the returned function gives the mean since then. */
export function watchBusyCores(): () => number {
  const [begun, busy] = [now(), busySeconds()];
  return () => (busySeconds() - busy) / Math.max(0.001, (now() - begun) / 1000);
}
