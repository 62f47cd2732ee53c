import { randomUUID } from 'node:crypto';
import { basename, dirname } from 'node:path';
import type { RunCommand } from '@espalier/contracts';
import type { KafkaPort } from '@espalier/kafka';
import { nextOfSeries, submitter } from '../demo/demo-run.ts';
import { CliError, EXIT } from '../errors.ts';
import { displayKind, displayOf } from '../following/display.ts';
import { followRun } from '../following/follow-run.ts';
import { summaryLines } from '../following/summary.ts';
import { awaitReport } from '../following/await-report.ts';
import { readRuns, readRunView } from '../log-reading/read-topic.ts';
import { moment, percent } from '../output/format.ts';
import { withPlane } from '../plane-access/open-plane.ts';
import { readRunFile } from '../run-file/read-run-file.ts';
import { findTaskDirectories } from '../run-file/task-directories.ts';
import { renderRun } from '../run-view/render.ts';
import { RunView } from '../run-view/run-view.ts';
import { publishTasks } from '../tasks/publish-tasks.ts';
import type { CommandContext } from './command-context.ts';

/** Submits the run of a file, waits until it is accepted, and publishes the file's tasks to it. */
export async function createRun({ config, out, exit }: CommandContext, file: string): Promise<void> {
  const definition = await readRunFile(file);
  const tasks = await findTaskDirectories(definition.tasks, dirname(definition.path));
  await withPlane(config, 'write', async (plane) => {
    const series = basename(definition.path).replace(/\.ya?ml$/, '');
    const runs = await readRuns(plane.kafka);
    const runId =
      definition.runId ??
      freshId(
        series,
        runs.map(({ run_id }) => run_id),
      );
    const report = await awaitReport(
      plane.kafka,
      (value) => value.run_id === runId && value.kind === 'STATE' && value.accepted !== null,
      () =>
        plane.kafka
          .producer()
          .send('run.submitted', { run_id: runId, config: definition.config, submitted_by: submitter() }),
      // An equal configuration under a known id is ignored in silence.
      runs.some(({ run_id }) => run_id === runId) ? 3_000 : undefined,
    ).catch((error: unknown) => {
      if (runs.some(({ run_id }) => run_id === runId) && error instanceof CliError) return null;
      throw error;
    });
    if (report?.accepted === false) {
      out.value({ run_id: runId, accepted: false, code: report.code, message: report.message });
      throw new CliError('CLI_REFUSED', `run ${runId} is refused: ${report.code ?? ''} ${report.message}`, EXIT.no);
    }
    const published = await publishTasks(plane, runId, tasks);
    out.value({ run_id: runId, accepted: true, tasks: published });
    out.line(
      `run ${runId} is ${report === null ? 'known already' : 'accepted'}, ${published.length} tasks are published`,
    );
    out.line(`watch it with "espalier run watch ${runId}"`);
    exit(EXIT.ok);
  });
}

function freshId(series: string, known: readonly string[]): string {
  const ended = known.map((run_id) => ({
    ...{ run_id, ended: true, state: 'COMPLETED', submitted_at: 0, submitted_by: null, purpose: null },
    ...{ attempts_ended: 0, batches_trained: 0, pass_rate: null, message: '' },
  }));
  return nextOfSeries(series, ended).runId;
}

export async function listRuns({ config, out, exit }: CommandContext): Promise<void> {
  const runs = await withPlane(config, 'read', ({ kafka }) => readRuns(kafka));
  out.rows(
    runs,
    [
      ['run', ({ run_id }) => run_id],
      ['state', ({ state }) => state.toLowerCase()],
      ['purpose', ({ purpose }) => purpose?.toLowerCase()],
      ['submitted', ({ submitted_at }) => (submitted_at === null ? null : moment(submitted_at))],
      ['by', ({ submitted_by }) => submitted_by],
      ['attempts', ({ attempts_ended }) => attempts_ended],
      ['batches', ({ batches_trained }) => batches_trained],
      ['pass rate', ({ pass_rate }) => percent(pass_rate)],
    ],
    'no runs yet',
  );
  exit(EXIT.ok);
}

/** The view of a run; throws `CLI_NOT_FOUND` when the log does not know it. */
async function viewOf(kafka: KafkaPort, runId: string): Promise<RunView> {
  const view = await readRunView(kafka, runId);
  if (view.snapshot().started_at === null) throw notFound(runId);
  return view;
}

const notFound = (runId: string): CliError =>
  new CliError('CLI_NOT_FOUND', `the log holds no run "${runId}"; "espalier run list" names those it does`, EXIT.no);

export async function showRun({ config, out, stdout, exit }: CommandContext, runId: string): Promise<void> {
  const view = await withPlane(config, 'read', ({ kafka }) => viewOf(kafka, runId));
  const snapshot = view.snapshot();
  out.value(snapshot);
  const lines = snapshot.ended
    ? summaryLines(snapshot)
    : renderRun(snapshot, view.points, [], Date.now(), stdout.columns ?? 100).slice(0, -1);
  for (const line of lines) out.line(line);
  exit(EXIT.ok);
}

export async function watchRun(
  context: CommandContext,
  runId: string,
  flags: { readonly plain?: boolean },
): Promise<void> {
  const { config, out, stdout, exit } = context;
  const controller = new AbortController();
  const interrupt = (): void => controller.abort();
  process.once('SIGINT', interrupt);
  try {
    await withPlane(config, 'read', async ({ kafka }) => {
      const known = (await readRuns(kafka)).some(({ run_id }) => run_id === runId);
      if (!known) throw notFound(runId);
      const view = new RunView(runId);
      const display = displayOf(displayKind(context, flags.plain ?? false), view, stdout);
      const end = await followRun(kafka, view, display, controller.signal);
      for (const line of end === 'ended' ? ['', ...summaryLines(view.snapshot())] : []) out.line(line);
      out.value({ summary: view.snapshot() });
      exit(end === 'ended' ? EXIT.ok : EXIT.interrupted);
    });
  } finally {
    process.off('SIGINT', interrupt);
  }
}

/** Sends a command to a run and waits for its verdict. */
export async function commandRun(
  { config, out, exit }: CommandContext,
  command: Exclude<RunCommand, 'UNKNOWN' | 'CHANGE'>,
  runId: string,
  reason: string,
): Promise<void> {
  await withPlane(config, 'write', async ({ kafka }) => {
    const commandId = `cli-${randomUUID()}`;
    const verdict = await awaitReport(
      kafka,
      (value) => value.command_id === commandId,
      () =>
        kafka.producer().send('run.commanded', {
          run_id: runId,
          command_id: commandId,
          command,
          reason,
          idempotency_key: commandId,
        }),
    );
    const { accepted, code, message, state } = verdict;
    out.value({ run_id: runId, command, accepted, code, message, state });
    if (accepted === true)
      out.line(`run ${runId}: ${command.toLowerCase().replace('_', ' ')} is accepted, it is ${state.toLowerCase()}`);
    else out.notice(`run ${runId}: ${command.toLowerCase().replace('_', ' ')} is refused: ${code ?? ''} ${message}`);
    exit(accepted === true ? EXIT.ok : EXIT.no);
  });
}
