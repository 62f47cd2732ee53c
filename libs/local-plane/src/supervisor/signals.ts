/** Sends a signal to every process of the group that `pid` leads; false when there is none left. */
export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}

/** Whether a process with this id exists and is not a zombie's leftover of ours. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
