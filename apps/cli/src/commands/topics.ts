import { topics, type TopicKind } from '@espalier/contracts';
import { EXIT } from '../errors.ts';
import { withPlane } from '../plane-access/open-plane.ts';
import type { CommandContext } from './command-context.ts';

/** A topic as `topics` shows it. */
interface TopicRow {
  readonly topic: string;
  readonly kind: TopicKind | null;
  readonly partitions: number;
  /** Offsets between start and end, transaction markers among them. */
  readonly offsets: number;
}

/** Lists the topics of the deployment; retry and dead-letter topics that are empty only with `all`. */
export async function listTopics(
  { config, out, exit }: CommandContext,
  flags: { readonly all?: boolean },
): Promise<void> {
  const rows = await withPlane(config, 'read', async ({ kafka }) => {
    const found: TopicRow[] = [];
    for (const { topic, name, partitions } of await kafka.admin.describe()) {
      const starts = await kafka.admin.startOffsets(topic);
      const ends = await kafka.admin.endOffsets(topic);
      const sum = (offsets: readonly { readonly offset: number }[]): number =>
        offsets.reduce((all, { offset }) => all + offset, 0);
      const derived = /\.(retry|dead)\./.exec(topic)?.[1] as 'retry' | 'dead' | undefined;
      const kind = derived ?? (name === undefined ? null : (topics[name].kind as TopicKind));
      found.push({ topic, kind, partitions, offsets: sum(ends) - sum(starts) });
    }
    return found.sort((left, right) => (left.topic < right.topic ? -1 : 1));
  });
  const shown = rows.filter(
    ({ kind, offsets }) => flags.all === true || (kind !== 'retry' && kind !== 'dead') || offsets > 0,
  );
  out.rows(
    shown,
    [
      ['topic', ({ topic }) => topic],
      ['kind', ({ kind }) => kind],
      ['partitions', ({ partitions }) => partitions],
      ['offsets', ({ offsets }) => offsets],
    ],
    'no topics yet',
  );
  exit(EXIT.ok);
}
