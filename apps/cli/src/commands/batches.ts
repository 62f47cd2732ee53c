import { EXIT } from '../errors.ts';
import { eventsOf, readRunView } from '../log-reading/read-topic.ts';
import { moment } from '../output/format.ts';
import { withPlane } from '../plane-access/open-plane.ts';
import type { CommandContext } from './command-context.ts';

/** A batch as `batches list` shows it. */
interface BatchRow {
  readonly batch_id: string;
  readonly seq: number;
  readonly trajectories: number;
  readonly groups: number;
  readonly sampled_tokens: number;
  readonly reward_mean: number | null;
  readonly policy_version: number;
  readonly partial: boolean;
  readonly offered_at: number;
  /** To how many learner sessions it was offered. */
  readonly offers: number;
  readonly trained: boolean;
  readonly digest: string;
}

/** Lists the batches of a run: what they hold and whether they are trained. */
export async function listBatches({ config, out, exit }: CommandContext, runId: string): Promise<void> {
  const rows = await withPlane(config, 'read', async ({ kafka }) => {
    const { trained } = (await readRunView(kafka, runId)).snapshot().batches;
    const batches = new Map<number, BatchRow>();
    for await (const { value } of eventsOf(kafka, 'batch.offered', runId)) {
      const known = batches.get(value.seq);
      const { batch_id, seq, entries, policy_version, partial, occurred_at, digest } = value;
      const rewards = entries.reduce((sum, { reward }) => sum + reward, 0);
      batches.set(seq, {
        ...{ batch_id, seq, policy_version, partial, digest },
        trajectories: entries.length,
        groups: new Set(entries.map(({ group_id }) => group_id)).size,
        sampled_tokens: entries.reduce((sum, { sampled_tokens }) => sum + sampled_tokens, 0),
        reward_mean: entries.length === 0 ? null : rewards / entries.length,
        offered_at: known?.offered_at ?? occurred_at,
        offers: (known?.offers ?? 0) + 1,
        trained: seq <= trained,
      });
    }
    return [...batches.values()].sort((left, right) => left.seq - right.seq);
  });
  out.rows(
    rows,
    [
      ['batch', ({ seq }) => seq],
      ['offered', ({ offered_at }) => moment(offered_at)],
      ['times', ({ offers }) => offers],
      ['trained', ({ trained }) => (trained ? 'yes' : 'no')],
      ['groups', ({ groups }) => groups],
      ['trajectories', ({ trajectories }) => trajectories],
      ['tokens', ({ sampled_tokens }) => sampled_tokens],
      ['mean reward', ({ reward_mean }) => (reward_mean === null ? null : reward_mean.toFixed(3))],
      ['policy', ({ policy_version }) => policy_version],
      ['digest', ({ digest }) => digest.slice(0, 12)],
    ],
    `run ${runId} has no batches`,
  );
  exit(EXIT.ok);
}
