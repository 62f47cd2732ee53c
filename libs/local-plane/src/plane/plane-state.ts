import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PlaneError } from '../errors/plane-errors.ts';
import type { ProcessStatus } from '../supervisor/process-spec.ts';
import { commandLine, isAlive } from '../supervisor/signals.ts';
import { until } from '../workspace/until.ts';
import type { ServicePorts } from './ports.ts';

/** One process of a plane as others see it. */
export interface PlaneProcessStatus extends ProcessStatus {
  /** Null for the broker. */
  readonly ports: ServicePorts | null;
}

/** What a running plane writes to `plane.json` in its folder after every change. */
export interface PlaneState {
  /** The process that supervises the plane. */
  readonly pid: number;
  /** Its command line: a later process with the same id has another one. */
  readonly commandLine: string;
  /** ISO time. */
  readonly startedAt: string;
  readonly dir: string;
  readonly prefix: string;
  readonly brokers: readonly string[];
  /** Whether the broker belongs to the plane. */
  readonly embeddedKafka: boolean;
  /** How clients reach it: `ESPALIER_*` variables, without secrets. */
  readonly clientEnvironment: Readonly<Record<string, string>>;
  readonly processes: readonly PlaneProcessStatus[];
}

const fileOf = (dir: string): string => join(dir, 'plane.json');

export function writePlaneState(state: PlaneState): void {
  mkdirSync(state.dir, { recursive: true });
  const path = fileOf(state.dir);
  writeFileSync(`${path}.${process.pid}`, `${JSON.stringify(state, null, 2)}\n`);
  renameSync(`${path}.${process.pid}`, path);
}

export function removePlaneState(dir: string): void {
  rmSync(fileOf(dir), { force: true });
}

/** The plane that runs on this folder, or null. A state file whose supervisor has died does not count. */
export function runningPlane(dir: string): PlaneState | null {
  try {
    const state = JSON.parse(readFileSync(fileOf(dir), 'utf8')) as PlaneState;
    return isAlive(state.pid) && commandLine(state.pid) === state.commandLine ? state : null;
  } catch {
    return null;
  }
}

/**
 * Ends the plane that runs on this folder, whoever started it; false when none does.
 *
 * @throws PlaneError `PLANE_STOP_TIMED_OUT`
 */
export async function stopRunningPlane(dir: string, timeoutMs = 90_000): Promise<boolean> {
  const plane = runningPlane(dir);
  if (plane === null) return false;
  process.kill(plane.pid, 'SIGTERM');
  if (await until(() => runningPlane(dir) === null, timeoutMs, 100)) return true;
  throw new PlaneError(
    'PLANE_STOP_TIMED_OUT',
    `The plane in ${dir} (process ${plane.pid}) has not ended within ${timeoutMs / 1_000} s: end that process; what it runs ends with it.`,
    true,
  );
}
