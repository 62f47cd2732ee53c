import type { Command } from 'commander';
import { readConfig, type CliConfig, type GlobalFlags } from '../config.ts';
import { printerOn, type Printer, type Sink } from '../output/printer.ts';

/** What every command is given. */
export interface CommandContext {
  readonly config: CliConfig;
  readonly out: Printer;
  /** Result stream, for commands that draw on it. */
  readonly stdout: Sink & { readonly isTTY?: boolean; readonly columns?: number };
  /** Ends the process with this code once the command is done. */
  readonly exit: (code: number) => void;
}

/** The streams and the environment of a process; tests give their own. */
export interface Surroundings {
  readonly stdout: CommandContext['stdout'];
  readonly stderr: Sink;
  readonly environment: NodeJS.ProcessEnv;
  readonly setExitCode: (code: number) => void;
}

/** Wraps a command's work: reads flags and environment, builds the context. Arguments come in commander's order. */
export function action<A extends readonly unknown[]>(
  surroundings: Surroundings,
  work: (context: CommandContext, ...args: A) => Promise<void>,
): (...args: unknown[]) => Promise<void> {
  return async (...args) => {
    const command = args.at(-1) as Command;
    const config = readConfig(command.optsWithGlobals<GlobalFlags>(), surroundings.environment);
    const out = printerOn(surroundings.stdout, surroundings.stderr, config.json);
    const context = { config, out, stdout: surroundings.stdout, exit: surroundings.setExitCode };
    await work(context, ...(args.slice(0, -1) as unknown as A));
  };
}
