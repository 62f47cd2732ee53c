import type { Plane } from '@espalier/local-plane';
import { cpuOf, type CpuTime } from './cpu.ts';

/** CPU time of every process of a plane, and of this process, by name. */
export function planeCpu(plane: Plane): Map<string, CpuTime> {
  const processes = new Map<string, number>();
  for (const { name, pid } of plane.status()) if (pid !== null) processes.set(name, pid);
  const times = cpuOf(processes);
  // The plane's processes are this one's children: only its own time is its own.
  const own = cpuOf(new Map([['bench', process.pid]])).get('bench');
  if (own !== undefined) times.set('bench', { own: own.own, children: 0 });
  return times;
}
