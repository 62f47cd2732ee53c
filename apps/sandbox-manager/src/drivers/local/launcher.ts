import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SandboxDriverError } from '../driver.ts';

/** The specification that `sandbox-agent launch` reads; see apps/sandbox-agent/internal/spec. */
export interface LaunchSpec {
  readonly sandbox_id: string;
  readonly nonce: string;
  readonly directory: string;
  readonly socket: string;
  readonly layers: readonly string[];
  readonly masks: readonly string[];
  readonly exposed: readonly string[];
  readonly disk_bytes: number;
  readonly keep_upper: string;
  readonly keep_work: string;
  readonly binds: readonly { readonly source: string; readonly target: string; readonly read_only: boolean }[];
  readonly hostname: string;
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly token: string;
  readonly lease_ms: number;
  readonly network: 'none' | 'host';
  readonly memory_bytes: number;
  readonly cpus: number;
  readonly pids: number;
  readonly open_files: number;
  readonly cgroup: string;
  readonly controllers: readonly string[];
}

/** What this machine and user can isolate. */
export interface IsolationReport {
  readonly found: boolean;
  readonly isolation: string;
  readonly cgroup: readonly string[];
}

/** Asks the agent binary. Throws `SANDBOX_ISOLATION` when it is missing or cannot run. */
export async function probeIsolation(binary: string): Promise<IsolationReport> {
  if (!existsSync(binary))
    throw new SandboxDriverError(
      'SANDBOX_ISOLATION',
      `the agent binary ${binary} is missing; build it (go build -o ${binary} ./apps/sandbox-agent) or set ESPALIER_AGENT_BINARY`,
      false,
    );
  const { stdout } = await promisify(execFile)(binary, ['probe']);
  return JSON.parse(stdout) as IsolationReport;
}

/** Refuses a machine that cannot give what must be given. Throws `SANDBOX_ISOLATION`. */
export function requireIsolation(report: IsolationReport, required: readonly string[]): void {
  const refuse = (message: string): never => {
    throw new SandboxDriverError('SANDBOX_ISOLATION', message, false);
  };
  if (!report.found)
    refuse('bubblewrap (bwrap) is not installed; sandboxes are refused rather than run without isolation');
  for (const guarantee of required) {
    if (guarantee === 'root' && report.isolation !== 'bubblewrap')
      refuse('ESPALIER_SANDBOX_REQUIRE asks for isolation set up by root, and this user is not root');
    if (guarantee === 'cgroup' && !['memory', 'pids', 'cpu'].every((name) => report.cgroup.includes(name)))
      refuse(`ESPALIER_SANDBOX_REQUIRE asks for cgroup limits; writable here: ${report.cgroup.join(', ') || 'none'}`);
    if (guarantee !== 'root' && guarantee !== 'cgroup')
      refuse(`ESPALIER_SANDBOX_REQUIRE: "${guarantee}" is not known; use root and cgroup`);
  }
}

/**
 * Starts a sandbox's outer process, detached: the end of the manager ends no sandbox. The nonce in the specification's
 * name makes the launcher itself findable before it has become bubblewrap.
 */
export function launch(binary: string, spec: LaunchSpec): ChildProcess {
  const specPath = join(spec.directory, `launch-${spec.nonce}.json`);
  writeFileSync(specPath, JSON.stringify(spec), { mode: 0o600 });
  const log = openSync(join(spec.directory, 'launch.log'), 'a', 0o600);
  try {
    const child = spawn(binary, ['launch', '--spec', specPath], {
      detached: true,
      stdio: ['ignore', log, log],
      cwd: '/',
      env: { PATH: process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin' },
    });
    child.unref();
    return child;
  } finally {
    closeSync(log);
  }
}

/** The last lines of a sandbox's launch log, for error texts. */
export function launchLog(directory: string): string {
  try {
    return readFileSync(join(directory, 'launch.log'), 'utf8').trim().split('\n').slice(-5).join(' | ').slice(0, 900);
  } catch {
    return '';
  }
}
