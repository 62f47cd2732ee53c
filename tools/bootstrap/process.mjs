import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** A command of a setup step that ended badly; `output` is what it printed. */
export class CommandFailed extends Error {
  constructor(command, outcome, output) {
    super(`${command}: ${outcome}`);
    this.name = 'CommandFailed';
    this.output = output;
  }
}

/**
 * Runs a command to its end. What it prints goes to the log file alone, and is returned.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd: string, log: string, env?: Record<string, string | undefined> }} options
 * @returns {Promise<string>}
 */
export function run(command, args, { cwd, log, env = process.env }) {
  const line = [command, ...args].join(' ');
  appendFileSync(log, `\n$ ${line}\n`);
  return new Promise((resolve, reject) => {
    const chunks = [];
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const take = (chunk) => {
      chunks.push(chunk);
      appendFileSync(log, chunk);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.once('error', (error) => reject(new CommandFailed(line, error.message, '')));
    child.once('close', (code, signal) => {
      const output = Buffer.concat(chunks).toString('utf8');
      if (code === 0) resolve(output);
      else reject(new CommandFailed(line, signal ?? `exit code ${code}`, output));
    });
  });
}

/** Tries `attempt` up to `times` times, with pauses of 2 s, 4 s, ...: for what depends on the network. */
export async function retrying(times, attempt) {
  for (let tried = 1; ; tried += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (tried >= times) throw error;
      await sleep(1_000 * 2 ** tried);
    }
  }
}
