import { randomUUID } from 'node:crypto';
import type { TopicName } from '@espalier/contracts';
import type { TransactionalProducer } from '@espalier/kafka';
import { ProcessorError, ProcessorStateError } from '../errors.ts';
import { emptyState, type Changelog, type PartitionState } from './changelog.ts';
import type { TaskParts } from './parts.ts';

/** A partition's state, and the end offsets of its inputs read after it was restored. */
export interface Restored {
  readonly state: PartitionState;
  readonly ends: readonly (readonly [TopicName, number])[];
}

/**
 * Fences earlier owners, stores a barrier, and folds the changelog up to it. Undefined when the task was dropped meanwhile.
 */
export async function restorePartition(
  parts: TaskParts,
  changelog: Changelog,
  producer: TransactionalProducer,
  isDropped: () => boolean,
): Promise<Restored | undefined> {
  const { kafka, machine, partition, reader, kept, logger, clock } = parts;
  const begun = Date.now();
  await producer.open();
  if (isDropped()) return undefined;
  const record = changelog.barrier(randomUUID(), clock());
  const [barrier] = await producer.transact({ records: [record] });
  if (barrier === undefined) throw new ProcessorStateError('the barrier was stored nowhere');
  // From here on no earlier owner can add to the changelog.
  const state = kept ?? emptyState();
  const from = state.changelogOffset;
  let records = 0;
  let complete = false;
  for await (const stored of reader.readRange(changelog.topic, partition, from, barrier + 1)) {
    if (isDropped()) return undefined;
    changelog.fold(state, stored);
    complete = stored.offset === barrier && record.value !== null && stored.value?.equals(record.value) === true;
    records += 1;
  }
  // A state that ends before the barrier is an older owner's: applying anything to it would repeat what was applied since.
  if (!complete)
    throw new ProcessorError(
      'PROCESSOR_RESTORE_INCOMPLETE',
      `${changelog.topic}/${partition}: the restore from ${from} ended before its barrier at ${barrier}`,
      true,
    );
  state.changelogOffset = barrier + 1;
  const ends = await Promise.all(
    machine.inputs.map(async (topic) => {
      const offsets = await kafka.admin.endOffsets(topic);
      return [topic, offsets.find((end) => end.partition === partition)?.offset ?? 0] as const;
    }),
  );
  if (isDropped()) return undefined;
  logger.info(
    {
      machine: machine.name,
      partition,
      records,
      from,
      entries: state.store.size,
      timers: state.timers.size,
      transactionNo: state.transactionNo,
      ms: Date.now() - begun,
    },
    'partition restored',
  );
  return { state, ends };
}
