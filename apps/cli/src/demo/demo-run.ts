import { userInfo } from 'node:os';
import { basename, dirname } from 'node:path';
import { RUN_ID } from '@espalier/contracts';
import { CliError } from '../errors.ts';
import { eventsOf, readRuns, type RunSummary } from '../log-reading/read-topic.ts';
import type { PlaneAccess } from '../plane-access/open-plane.ts';
import type { RunDefinition } from '../run-file/read-run-file.ts';
import { findTaskDirectories } from '../run-file/task-directories.ts';
import { publishTasks } from '../tasks/publish-tasks.ts';

/** A run that was begun or taken up again. */
export interface BegunRun {
  readonly runId: string;
  readonly resumed: boolean;
  readonly tasks: number;
}

/**
 * The id of the run to work on: `<series>-<n>`. The newest of the series goes on if it has not ended; after one that has,
 * a new one begins.
 */
export function nextOfSeries(series: string, runs: readonly RunSummary[]): { runId: string; resumed: boolean } {
  const numbered = runs.flatMap((run) => {
    const number = run.run_id.startsWith(`${series}-`) ? Number(run.run_id.slice(series.length + 1)) : Number.NaN;
    return Number.isSafeInteger(number) && number > 0 && run.state !== 'REFUSED' ? [{ run, number }] : [];
  });
  const newest = numbered.reduce<(typeof numbered)[number] | undefined>(
    (best, entry) => (best === undefined || entry.number > best.number ? entry : best),
    undefined,
  );
  if (newest && !newest.run.ended) return { runId: newest.run.run_id, resumed: true };
  return { runId: `${series}-${(newest?.number ?? 0) + 1}`, resumed: false };
}

/** Who submits, for people. */
export function submitter(): string {
  try {
    return `${userInfo().username} (espalier cli)`;
  } catch {
    return 'espalier cli';
  }
}

/**
 * Begins the run of a definition, or takes up the unfinished one: submits it, publishes its tasks (what was published
 * before is not published again), and resumes it when it was paused.
 */
export async function beginRun(plane: PlaneAccess, definition: RunDefinition): Promise<BegunRun> {
  const series = basename(definition.path).replace(/\.ya?ml$/, '');
  if (definition.runId === null && !RUN_ID.test(`${series}-1`))
    throw new CliError('CLI_RUN_FILE', `${definition.path}: give the run an id ("run: ..."); its file name makes none`);
  const directories = await findTaskDirectories(definition.tasks, dirname(definition.path));
  if (directories.length === 0) throw new CliError('CLI_RUN_FILE', `${definition.path}: name at least one task`);
  const runs = await readRuns(plane.kafka);
  const { runId, resumed } =
    definition.runId === null
      ? nextOfSeries(series, runs)
      : { runId: definition.runId, resumed: runs.some(({ run_id, ended }) => run_id === definition.runId && !ended) };
  const producer = plane.kafka.producer();
  if (!resumed)
    await producer.send('run.submitted', { run_id: runId, config: definition.config, submitted_by: submitter() });
  const published = new Set<string>();
  if (resumed)
    for await (const { value } of eventsOf(plane.kafka, 'task.submitted', runId)) published.add(value.task_id);
  const missing = directories.filter(({ taskId }) => !published.has(taskId));
  await publishTasks(plane, runId, missing);
  if (resumed && runs.find(({ run_id }) => run_id === runId)?.state === 'PAUSED')
    await producer.send('run.commanded', {
      run_id: runId,
      command_id: `resume-${runId}-${Date.now()}`,
      command: 'RESUME',
      reason: 'taken up again',
    });
  return { runId, resumed, tasks: directories.length };
}
