import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import type { TrajectoryBody } from '@espalier/contracts';
import { expandMask } from '@espalier/trajectory';
import { CliError, EXIT } from '../errors.ts';
import { conversationLines, mainPath, messagesOf } from '../log-reading/conversation.ts';
import { readBody, readTrajectories, summaryOf, type StoredTrajectory } from '../log-reading/trajectories.ts';
import { clip, duration, moment } from '../output/format.ts';
import { toJson } from '../output/printer.ts';
import { withPlane } from '../plane-access/open-plane.ts';
import type { CommandContext } from './command-context.ts';

/** Which trajectories are meant. */
export interface TrajectoryFilter {
  readonly run: string;
  readonly task?: string;
  readonly passed?: boolean;
  readonly failed?: boolean;
  readonly limit?: string;
}

function select(
  all: readonly StoredTrajectory[],
  { task, passed, failed, limit }: TrajectoryFilter,
): StoredTrajectory[] {
  const chosen = all.filter((trajectory) => {
    const summary = summaryOf(trajectory);
    if (task !== undefined && summary.task !== task) return false;
    if (passed === true && summary.passed !== true) return false;
    return failed !== true || summary.passed === false;
  });
  if (limit === undefined) return chosen;
  const most = Number(limit);
  if (!Number.isSafeInteger(most) || most < 1) throw new CliError('CLI_USAGE', '--limit must be 1 or more');
  return chosen.slice(-most);
}

export async function listTrajectories({ config, out, exit }: CommandContext, filter: TrajectoryFilter): Promise<void> {
  const found = await withPlane(config, 'read', ({ kafka }) => readTrajectories(kafka, filter.run));
  out.rows(
    select(found, filter).map(summaryOf),
    [
      ['trajectory', ({ trajectory_id }) => trajectory_id],
      ['recorded', ({ recorded_at }) => moment(recorded_at)],
      ['status', ({ status }) => status.toLowerCase()],
      ['stopped by', ({ stop_reason }) => stop_reason],
      ['turns', ({ turns }) => turns],
      ['tokens', ({ sampled_tokens }) => sampled_tokens],
      ['policy', ({ policy_version }) => policy_version],
      ['reward', ({ reward }) => reward],
    ],
    `run ${filter.run} has no such trajectories`,
  );
  exit(EXIT.ok);
}

/** Prints a trajectory's conversation, rewards and figures. `id` may leave out the final `/t`. */
export async function showTrajectory({ config, out, exit }: CommandContext, id: string): Promise<void> {
  const runId = id.split('/')[0] ?? '';
  await withPlane(config, 'read', async ({ kafka, objects }) => {
    const all = await readTrajectories(kafka, runId);
    const found = all.find(({ recorded }) => recorded.trajectory_id === id || recorded.attempt_id === id);
    if (!found)
      throw new CliError(
        'CLI_NOT_FOUND',
        `no trajectory "${id}" is recorded; see "espalier trajectories list --run ${runId}"`,
        EXIT.no,
      );
    const body = await readBody(objects, found);
    if (out.json) out.value({ ...found, body });
    else for (const line of trajectoryLines(found, body)) out.line(line);
    exit(EXIT.ok);
  });
}

function trajectoryLines({ recorded, scored }: StoredTrajectory, body: TrajectoryBody | null): string[] {
  const { counts, timing, failure } = recorded;
  const rewards = (scored?.rewards ?? []).map(
    ({ scorer, scorer_version, status, score, failure: why }) =>
      `  ${scorer}@${scorer_version}: ${score ?? 'no score'} (${status}${why ? `, ${why.code}: ${why.message}` : ''})`,
  );
  return [
    `${recorded.trajectory_id}  ${recorded.status.toLowerCase()}, ${recorded.stop_reason}`,
    ...(failure ? [`  failure: ${failure.class} ${failure.code}: ${failure.message}`] : []),
    `  ${recorded.harness.name} in ${recorded.isolation ?? 'no sandbox'}, policy version ${recorded.policy_version_max ?? '-'}, worker ${recorded.worker_id}`,
    `  ${counts.model_calls} calls, ${counts.sampled_tokens} tokens sampled in ${counts.samples} samples; harness ${duration(timing.harness_ms)}, model ${duration(timing.model_ms)}`,
    `  reward ${scored?.reward ?? '-'}${scored ? ` (revision ${scored.revision})` : ''}`,
    ...rewards,
    '',
    ...(body === null ? ['nothing was recorded of its conversation'] : conversationLines(mainPath(body))),
    ...(body !== null && body.harness_log.trim() !== ''
      ? [
          '── end of the harness log',
          ...body.harness_log
            .trimEnd()
            .split('\n')
            .slice(-20)
            .map((line) => `   ${clip(line, 200)}`),
        ]
      : []),
  ];
}

/** Writes trajectories as JSON lines: messages, rewards and, with `tokens`, the training samples. */
export async function exportTrajectories(
  context: CommandContext,
  filter: TrajectoryFilter & { readonly out?: string; readonly tokens?: boolean },
): Promise<void> {
  const { config, out, stdout, exit } = context;
  await withPlane(config, 'read', async ({ kafka, objects }) => {
    const chosen = select(await readTrajectories(kafka, filter.run), filter);
    const file = filter.out === undefined ? null : createWriteStream(filter.out);
    const ready = file === null ? null : once(file, 'open');
    await ready;
    let written = 0;
    for (const trajectory of chosen) {
      const body = await readBody(objects, trajectory);
      if (body === null) continue;
      const line = `${toJson(exported(trajectory, body, filter.tokens === true))}\n`;
      if (file === null) stdout.write(line);
      else if (!file.write(line)) await once(file, 'drain');
      written += 1;
    }
    if (file !== null) {
      file.end();
      await once(file, 'finish');
      out.line(`${written} trajectories of run ${filter.run} are in ${filter.out}`);
      out.value({ run_id: filter.run, written, file: filter.out });
    }
    exit(EXIT.ok);
  });
}

function exported(trajectory: StoredTrajectory, body: TrajectoryBody, tokens: boolean): object {
  const { recorded, scored } = trajectory;
  const samples = body.samples.map(({ sample_id, token_ids, logprobs, mask_runs, version_runs }) => ({
    ...{ sample_id, token_ids, logprobs, version_runs },
    loss_mask: [...expandMask(mask_runs)],
  }));
  return {
    trajectory_id: recorded.trajectory_id,
    task_id: body.task_id,
    status: recorded.status,
    stop_reason: recorded.stop_reason,
    reward: scored?.reward ?? null,
    passed: scored?.passed ?? null,
    rewards: (scored?.rewards ?? []).map(({ scorer, scorer_version, status, score }) => ({
      scorer,
      scorer_version,
      status,
      score,
    })),
    harness: recorded.harness.name,
    model: body.model,
    policy_version_min: recorded.policy_version_min,
    policy_version_max: recorded.policy_version_max,
    instruction: body.instruction,
    tools: toolsOf(body),
    messages: messagesOf(mainPath(body)),
    ...(tokens ? { samples } : {}),
  };
}

function toolsOf(body: TrajectoryBody): unknown {
  const text = body.calls.findLast(
    ({ call_class, tools_json }) => call_class === 'main' && tools_json !== null,
  )?.tools_json;
  return text === null || text === undefined ? [] : (JSON.parse(text) as unknown);
}
