import { runningPlane, planeSecrets, startPlane } from '@espalier/local-plane';
import { openObjectStore } from '@espalier/objects';
import { SandboxClient } from '@espalier/sandbox-client';
import { loadTaskDirectory, proveTask, TaskInvalidError, TaskUnsupportedError, type LoadedTask } from '@espalier/tasks';
import { CliError, EXIT } from '../errors.ts';
import { eventsOf } from '../log-reading/read-topic.ts';
import { withPlane } from '../plane-access/open-plane.ts';
import { findTaskDirectories, type TaskDirectory } from '../run-file/task-directories.ts';
import { ManagedSandboxes } from '../tasks/managed-sandboxes.ts';
import { publishTasks } from '../tasks/publish-tasks.ts';
import type { CommandContext } from './command-context.ts';

/** What was found out about one task directory. */
interface TaskVerdict {
  readonly path: string;
  readonly task: string | null;
  readonly valid: boolean;
  /** Null when it was not tried. */
  readonly proven: boolean | null;
  readonly problems: readonly string[];
  readonly notices: readonly string[];
}

const textOf = ({ file, key, message }: { file: string; key: string | null; message: string }): string =>
  [file, key, message].filter((part) => part !== null && part !== '').join(' ');

/** Validates task directories and proves them: the solution scores 1, doing nothing scores 0, each every time. */
export async function checkTasks(
  context: CommandContext,
  paths: readonly string[],
  flags: { readonly proof: boolean; readonly repetitions: string },
): Promise<void> {
  const { config, out, exit } = context;
  const repetitions = Number(flags.repetitions);
  if (!Number.isSafeInteger(repetitions) || repetitions < 1)
    throw new CliError('CLI_USAGE', '--repetitions must be 1 or more');
  const directories = await findTaskDirectories(paths.map(stripSlash), process.cwd());
  const verdicts: TaskVerdict[] = [];
  const tell = (verdict: TaskVerdict): void => {
    verdicts.push(verdict);
    out.value(verdict);
    const word = !verdict.valid
      ? 'invalid'
      : verdict.proven === null
        ? 'valid'
        : verdict.proven
          ? 'proven'
          : 'not proven';
    out.line(`${word.padEnd(10)}  ${verdict.task ?? verdict.path}`);
    for (const problem of verdict.problems) out.line(`            ${problem}`);
    for (const notice of verdict.notices) out.line(`            note: ${notice}`);
  };
  const loaded: { directory: TaskDirectory; task: LoadedTask }[] = [];
  for (const directory of directories) {
    const task = await loadTaskDirectory(directory.path).catch((error: unknown) => {
      if (!(error instanceof TaskInvalidError) && !(error instanceof TaskUnsupportedError)) throw error;
      tell({ path: directory.path, task: null, valid: false, proven: null, problems: [error.message], notices: [] });
      return null;
    });
    if (task !== null) loaded.push({ directory, task });
  }
  if (!flags.proof)
    for (const { directory, task } of loaded)
      tell({
        path: directory.path,
        task: task.name,
        valid: true,
        proven: null,
        problems: [],
        notices: task.notices.map(textOf),
      });
  else if (loaded.length > 0)
    await withSandboxes(context, async (client) => {
      const objects = openObjectStore(config.objects);
      for (const { directory, task } of loaded) {
        const sandboxes = await ManagedSandboxes.of(client, objects, task);
        const proof = await proveTask(task, sandboxes, { repetitions });
        const notices = task.notices.map(textOf);
        tell({
          path: directory.path,
          task: task.name,
          valid: true,
          proven: proof.proven,
          problems: proof.reasons,
          notices,
        });
      }
    });
  const good = verdicts.filter(({ valid, proven }) => valid && proven !== false).length;
  out.line(`${good} of ${verdicts.length} tasks are ${flags.proof ? 'proven' : 'valid'}`);
  exit(good === verdicts.length ? EXIT.ok : EXIT.no);
}

/** Uses the sandbox-manager that runs, or starts one for as long as the work takes. */
async function withSandboxes(
  { config, out }: CommandContext,
  work: (client: SandboxClient) => Promise<void>,
): Promise<void> {
  const running = config.sandboxUrl ?? runningPlane(config.dir)?.clientEnvironment['ESPALIER_SANDBOX_URL'] ?? null;
  const plane = running === null ? await startPlane({ dir: config.dir, services: ['sandbox-manager'] }) : null;
  if (plane !== null) out.line('started a sandbox-manager for the proofs');
  const apiKey = config.sandboxApiKey ?? planeSecrets(config.dir).sandboxApiKey;
  const client = new SandboxClient({ baseUrl: running ?? plane?.url('sandbox-manager') ?? '', apiKey });
  try {
    await work(client);
  } finally {
    client.close();
    await plane?.stop();
  }
}

const stripSlash = (path: string): string => (path.length > 1 ? path.replace(/\/+$/, '') : path);

/** Packs tasks and publishes them to a run. */
export async function publishTaskDirectories(
  { config, out, exit }: CommandContext,
  paths: readonly string[],
  flags: { readonly run: string; readonly repeat: string },
): Promise<void> {
  const repeat = Number(flags.repeat);
  if (!Number.isSafeInteger(repeat) || repeat < 1) throw new CliError('CLI_USAGE', '--repeat must be 1 or more');
  const entries = paths.map((path) => ({ path: stripSlash(path), repeat }));
  const directories = await findTaskDirectories(entries, process.cwd());
  await withPlane(config, 'write', async (plane) => {
    let known = false;
    for await (const event of eventsOf(plane.kafka, 'run.submitted', flags.run))
      known ||= event.value.run_id === flags.run;
    if (!known) out.notice(`run ${flags.run} is not known yet; its tasks wait ten minutes for it`);
    const published = await publishTasks(plane, flags.run, directories);
    out.rows(
      published,
      [
        ['task', ({ task_id }) => task_id],
        ['name', ({ name }) => name],
        ['bytes', ({ package_bytes }) => package_bytes],
        ['package', ({ package_key }) => package_key],
      ],
      'nothing to publish',
    );
    exit(EXIT.ok);
  });
}
