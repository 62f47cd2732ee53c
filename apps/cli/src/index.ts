export type { Surroundings } from './commands/command-context.ts';
export { EXIT } from './errors.ts';
export { runCli } from './program.ts';
