import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Writable } from 'node:stream';
import { signalGroup } from './signals.ts';

/**
 * Reads `+ PID` and `- PID` from its standard input. When that ends, its supervisor is gone, however it died: every
 * process group still on the list gets SIGTERM, and SIGKILL after the grace in $1 (tenths of a second).
 */
const WARDEN_SCRIPT = `
pids=' '
while read -r op pid; do
  case $op in
    +) pids="$pids$pid " ;;
    -) case $pids in *" $pid "*) pids="\${pids%% $pid *} \${pids#* $pid }" ;; esac ;;
  esac
done
for pid in $pids; do kill -TERM "-$pid" 2>/dev/null; done
tenths=0
while [ "$tenths" -lt "$1" ]; do
  alive=''
  for pid in $pids; do kill -0 "-$pid" 2>/dev/null && alive=1; done
  [ -z "$alive" ] && exit 0
  sleep 0.1
  tenths=$((tenths + 1))
done
for pid in $pids; do kill -KILL "-$pid" 2>/dev/null; done
`;

/**
 * Registers the process with the warden through descriptor 3 before it becomes the command. It holds the warden's input
 * open until then, so there is no moment at which the supervisor can die and leave an unregistered process.
 */
const REGISTER_AND_EXEC = 'echo "+ $$" >&3; exec 3>&-; exec "$0" "$@"';

/** How a process is started: no shell is involved in `command` and `args`. */
export interface LaunchOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Open file descriptor that takes both output streams. */
  readonly logFd: number;
}

/**
 * Makes sure that nothing outlives the process that owns it, even one that is ended by SIGKILL.
 *
 * A tiny shell process in a session of its own holds the read end of a pipe whose write end belongs to this process
 * alone; the end of that pipe is the one sign of death that cannot be missed. Each launched command leads a process
 * group, so that its own children go with it.
 */
export class Warden {
  readonly #graceMs: number;
  readonly #alive = new Set<number>();
  #guard: ChildProcess | undefined;
  #closed = false;

  /** @param graceMs milliseconds between SIGTERM and SIGKILL when the owner of this object has died. */
  constructor(graceMs = 5_000) {
    this.#graceMs = graceMs;
  }

  /** Starts a command as the leader of a new process group that ends when this process does. */
  launch(options: LaunchOptions): ChildProcess {
    const child = spawn('/bin/sh', ['-c', REGISTER_AND_EXEC, options.command, ...options.args], {
      cwd: options.cwd,
      env: options.env,
      detached: true,
      stdio: ['ignore', options.logFd, options.logFd, this.#input()],
    });
    const { pid } = child;
    if (pid === undefined) return child;
    this.#alive.add(pid);
    child.once('exit', () => {
      signalGroup(pid, 'SIGKILL'); // what the command left behind in its group
      this.#alive.delete(pid);
      this.#tell(`- ${pid}`);
    });
    return child;
  }

  /** Ends the guard. Processes that still run are ended by it, as if this process had died. */
  close(): void {
    this.#closed = true;
    this.#guard?.stdin?.end();
    this.#guard = undefined;
  }

  #input(): Writable {
    const guard = this.#guard ?? this.#start();
    if (guard.stdin === null) throw new Error('the warden has no standard input');
    return guard.stdin;
  }

  #start(): ChildProcess {
    this.#closed = false;
    const tenths = String(Math.ceil(this.#graceMs / 100));
    const guard = spawn('/bin/sh', ['-c', WARDEN_SCRIPT, 'espalier-warden', tenths], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    guard.stdin?.on('error', () => undefined); // its end is seen as 'exit' below
    guard.once('exit', () => {
      if (this.#guard !== guard || this.#closed) return;
      this.#guard = undefined;
      for (const pid of this.#alive) this.#tell(`+ ${pid}`); // somebody killed it: the next one takes over the list
    });
    guard.unref();
    this.#guard = guard;
    return guard;
  }

  #tell(line: string): void {
    if (!this.#closed) this.#input().write(`${line}\n`);
  }
}
