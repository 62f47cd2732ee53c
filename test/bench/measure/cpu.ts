import { readdirSync, readFileSync } from 'node:fs';

/** Kernel ticks a second: 100 on every Linux that Node runs on. */
const TICKS = 100;

interface Stat {
  readonly parent: number;
  /** Seconds of the process itself. */
  readonly own: number;
  /** Seconds of children that ended and were waited for. */
  readonly waited: number;
}

/** CPU seconds since the start of a process. */
export interface CpuTime {
  readonly own: number;
  /** Of everything it started: what has ended, and what still runs. */
  readonly children: number;
}

function statOf(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command in parentheses may hold spaces; what follows it does not.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const seconds = (index: number): number => Number(fields[index] ?? 0) / TICKS;
    return { parent: Number(fields[1]), own: seconds(11) + seconds(12), waited: seconds(13) + seconds(14) };
  } catch {
    return undefined;
  }
}

/** CPU time of each named process, with what descends from it. Processes that are gone are left out. */
export function cpuOf(processes: ReadonlyMap<string, number>): Map<string, CpuTime> {
  const stats = new Map<number, Stat>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    const stat = Number.isInteger(pid) ? statOf(pid) : undefined;
    if (stat !== undefined) stats.set(pid, stat);
  }
  const below = new Map<number, number[]>();
  for (const [pid, { parent }] of stats) below.set(parent, [...(below.get(parent) ?? []), pid]);
  const runningBelow = (pid: number): number =>
    (below.get(pid) ?? []).reduce((sum, child) => {
      const stat = stats.get(child);
      return sum + (stat === undefined ? 0 : stat.own + stat.waited) + runningBelow(child);
    }, 0);
  const times = new Map<string, CpuTime>();
  for (const [name, pid] of processes) {
    const stat = stats.get(pid);
    if (stat !== undefined) times.set(name, { own: stat.own, children: stat.waited + runningBelow(pid) });
  }
  return times;
}

/** CPU seconds spent between two readings, by process; what a process started is listed as `<name> children`. */
export function cpuSpent(
  before: ReadonlyMap<string, CpuTime>,
  after: ReadonlyMap<string, CpuTime>,
): Map<string, number> {
  const spent = new Map<string, number>();
  for (const [name, end] of after) {
    const begin = before.get(name);
    if (begin === undefined) continue;
    spent.set(name, end.own - begin.own);
    const children = end.children - begin.children;
    if (children > 0.005) spent.set(`${name} children`, children);
  }
  return spent;
}
