import { Command, CommanderError } from 'commander';
import { audit } from './commands/audit.ts';
import { listBatches } from './commands/batches.ts';
import { action, type CommandContext, type Surroundings } from './commands/command-context.ts';
import { listDeadLetters, replayDeadLetters, showDeadLetter } from './commands/dead-letters.ts';
import { doctor } from './commands/doctor.ts';
import { down } from './commands/down.ts';
import { commandRun, createRun, listRuns, showRun, watchRun } from './commands/runs.ts';
import { status } from './commands/status.ts';
import { checkTasks, publishTaskDirectories } from './commands/tasks.ts';
import { listTopics } from './commands/topics.ts';
import { exportTrajectories, listTrajectories, showTrajectory } from './commands/trajectories.ts';
import { up } from './commands/up.ts';
import { CliError, EXIT } from './errors.ts';

/** The whole command line. */
function buildProgram(surroundings: Surroundings): Command {
  const does = <A extends readonly unknown[]>(work: (context: CommandContext, ...args: A) => Promise<void>) =>
    action(surroundings, work);
  const program = new Command('espalier')
    .description('The event-streaming rollout plane for agent reinforcement learning')
    .option('--json', 'print JSON lines')
    .option('--dir <folder>', 'folder of the one-machine plane (default: .espalier of this checkout)')
    .option('--brokers <list>', 'Kafka brokers, host:port,... (default: those of the plane)')
    .option('--prefix <prefix>', 'prefix of topics and groups (default: espalier)')
    .showHelpAfterError('(--help shows what there is)')
    .configureOutput({
      writeOut: (text) => void surroundings.stdout.write(text),
      writeErr: (text) => void surroundings.stderr.write(text),
    })
    .exitOverride();

  program
    .command('up')
    .description('start the plane on this machine; Ctrl-C stops it')
    .option('--demo', 'work on the demo run until its pass-rate target is met')
    .option('--run <file>', 'work on the run of this file instead')
    .option('--plain', 'lines instead of a picture that is redrawn')
    .option('--keep', 'stay up when the run has ended')
    .action(does(up));
  program.command('down').description('stop the plane of this machine').action(does(down));
  program.command('status').description('processes, lag and runs').action(does(status));
  program.command('doctor').description('examine what the plane needs').action(does(doctor));

  addRuns(program, does);
  addTasks(program, does);
  addRecords(program, does);
  return program;
}

type Does = <A extends readonly unknown[]>(
  work: (context: CommandContext, ...args: A) => Promise<void>,
) => (...args: unknown[]) => Promise<void>;

function addRuns(program: Command, does: Does): void {
  const run = program.command('run').description('runs');
  run
    .command('create <file>')
    .description('submit the run of a YAML file and publish its tasks')
    .action(does(createRun));
  run.command('list').description('all runs').action(does(listRuns));
  run.command('show <run>').description('state and figures of a run').action(does(showRun));
  run
    .command('watch <run>')
    .description('follow a run until it ends')
    .option('--plain', 'lines instead of a picture that is redrawn')
    .action(does(watchRun));
  const commands = [
    ['pause', 'PAUSE', 'stop admitting groups'],
    ['resume', 'RESUME', 'admit groups again'],
    ['cancel', 'CANCEL', 'end the run and what it runs'],
    ['close-tasks', 'CLOSE_TASKS', 'take no more tasks; the run ends when they are done'],
  ] as const;
  for (const [name, command, description] of commands)
    run
      .command(`${name} <run>`)
      .description(description)
      .option('--reason <text>', 'shown to users', 'by the command line')
      .action(
        does((context: CommandContext, runId: string, { reason }: { reason: string }) =>
          commandRun(context, command, runId, reason),
        ),
      );
}

function addTasks(program: Command, does: Does): void {
  const tasks = program.command('tasks').description('task directories');
  tasks
    .command('check <dir...>')
    .description('validate tasks and prove them: the solution scores 1, doing nothing 0')
    .option('--no-proof', 'validate only')
    .option('--repetitions <n>', 'trials of each', '2')
    .action(does(checkTasks));
  tasks
    .command('publish <dir...>')
    .description('pack tasks and publish them to a run')
    .requiredOption('--run <run>', 'the run')
    .option('--repeat <n>', 'groups to admit for each', '1')
    .action(does(publishTaskDirectories));
}

function addRecords(program: Command, does: Does): void {
  const trajectories = program.command('trajectories').description('what was recorded');
  const filtered = (command: Command): Command =>
    command
      .requiredOption('--run <run>', 'the run')
      .option('--task <task>', 'of this task alone')
      .option('--passed', 'only those that passed')
      .option('--failed', 'only those that did not')
      .option('--limit <n>', 'the last n');
  filtered(trajectories.command('list').description('trajectories of a run')).action(does(listTrajectories));
  trajectories.command('show <trajectory>').description('its conversation and rewards').action(does(showTrajectory));
  filtered(trajectories.command('export').description('JSON lines: messages and rewards'))
    .option('--out <file>', 'write to a file instead')
    .option('--tokens', 'with token ids, log-probs and loss masks')
    .action(does(exportTrajectories));

  program
    .command('batches')
    .description('batches of a run')
    .command('list')
    .description('what each holds and whether it is trained')
    .requiredOption('--run <run>', 'the run')
    .action(does((context: CommandContext, { run }: { run: string }) => listBatches(context, run)));

  const dead = program.command('dead').description('dead letters');
  dead.command('list').description('all of them').option('--run <run>', 'of this run').action(does(listDeadLetters));
  dead.command('show <ref>').description('headers and contents').action(does(showDeadLetter));
  dead
    .command('replay <ref...>')
    .description('produce them again where they came from')
    .action(does(replayDeadLetters));

  program
    .command('audit <run>')
    .description('recompute the account of a run from the log alone')
    .option('--no-bodies', 'leave the bodies unread')
    .option('--warnings', 'show warnings, too')
    .action(
      does((context: CommandContext, runId: string, flags: { bodies: boolean; warnings?: boolean }) =>
        audit(context, runId, { bodies: flags.bodies, warnings: flags.warnings ?? false }),
      ),
    );
  program
    .command('topics')
    .description('topics of the deployment')
    .option('--all', 'empty retry and dead-letter topics, too')
    .action(does(listTopics));
}

/**
 * Runs the command line on `argv` (without node and script). Never rejects: errors are told on stderr, and the exit code
 * is set.
 */
export async function runCli(argv: readonly string[], surroundings: Surroundings): Promise<void> {
  try {
    await buildProgram(surroundings).parseAsync([...argv], { from: 'user' });
  } catch (error) {
    surroundings.setExitCode(tell(error, surroundings, argv.includes('--json')));
  }
}

function tell(error: unknown, { stderr }: Surroundings, json: boolean): number {
  // Commander has told the user already; its code 0 is that of --help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  const { code, message } = error as { code?: unknown; message?: unknown };
  const text = typeof message === 'string' ? message : String(error);
  if (json)
    stderr.write(`${JSON.stringify({ error: typeof code === 'string' ? code : 'CLI_FAILED', message: text })}\n`);
  else stderr.write(`${typeof code === 'string' ? `${code}: ` : ''}${text}\n`);
  if (error instanceof CliError) return error.exitCode;
  // Coded errors come from the parts of the plane; anything else is a defect, and its stack helps.
  if (typeof code === 'string') return EXIT.unavailable;
  if (error instanceof Error && error.stack !== undefined) stderr.write(`${error.stack}\n`);
  return EXIT.no;
}
