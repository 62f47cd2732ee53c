import { deadTopicOf, topicOf, type JournalEntry, type RolloutRuled, type TopicName } from '@espalier/contracts';
import { decodeEvent, encodeEvent } from '@espalier/avro';
import { partitionFor, stampEvent, type KafkaPort, type StoredEvent } from '@espalier/kafka';
import { ProcessorHost, Replay, type ProcessorOptions } from '@espalier/processor';
import { afterEach, expect, it } from 'vitest';
import { countingMachine, countingTopics } from './counting-machine.ts';
import { eventually, freshPrefix, open } from './open.ts';

const hosts: ProcessorHost[] = [];

afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.stop()));
});

async function host(kafka: KafkaPort, more: Partial<ProcessorOptions> = {}): Promise<ProcessorHost> {
  const made = new ProcessorHost({
    kafka,
    machine: countingMachine,
    group: 'group-processor',
    timings: { heartbeatMs: 300, graceMs: 300, ...more.timings },
    ...more,
  });
  hosts.push(made);
  await made.start();
  await eventually('restored', () => made.ready());
  return made;
}

async function plane(): Promise<{ prefix: string; kafka: KafkaPort }> {
  const prefix = freshPrefix();
  const kafka = open(prefix);
  await kafka.admin.ensureTopics(countingTopics);
  return { prefix, kafka };
}

async function all<T extends TopicName>(kafka: KafkaPort, topic: T): Promise<StoredEvent<T>[]> {
  const events: StoredEvent<T>[] = [];
  for await (const event of kafka.reader().readAll(topic)) events.push(event);
  return events;
}

const rulings = async (kafka: KafkaPort): Promise<RolloutRuled[]> =>
  (await all(kafka, 'rollout.ruled')).flatMap(({ value }) => (value === null ? [] : [value]));

const command = (kafka: KafkaPort, groupId: string, reason: string) =>
  kafka.producer().send('group.commanded', { group_id: groupId, command: 'CANCEL', reason });

async function dead(kafka: KafkaPort, prefix: string): Promise<Readonly<Record<string, string>>[]> {
  const topic = deadTopicOf(prefix, 'group.commanded', 'group-processor');
  const found: Readonly<Record<string, string>>[] = [];
  for (let partition = 0; partition < kafka.partitions; partition += 1)
    for await (const { headers, value } of kafka.reader().readRange(topic, partition, 0))
      found.push({ ...headers, bytes: value?.toString('latin1') ?? '' });
  return found;
}

/** Replays every journalled transaction from the log; returns how many timers fired in them. */
async function expectReplay(kafka: KafkaPort): Promise<number> {
  const reader = kafka.reader();
  const replays = new Map<number, Replay>();
  let timers = 0;
  for await (const { value: entry } of reader.readAll('journal.group')) {
    if (entry === null) throw new Error('a journal entry does not decode');
    const replay =
      replays.get(entry.partition) ??
      new Replay({
        machine: countingMachine,
        reader,
        prefix: kafka.connection.prefix,
        partition: entry.partition,
        partitions: kafka.partitions,
      });
    replays.set(entry.partition, replay);
    const replayed = await replay.apply(entry);
    expect(replayed).toMatchObject({ matches: true, transactionNo: entry.transaction_no });
    timers += replayed.timers;
  }
  expect(replays.size).toBeGreaterThan(0);
  return timers;
}

it('goes on past poison, bugs, refusals, entries too large and foreign partitioners', async () => {
  const { prefix, kafka } = await plane();
  await host(kafka);
  const groupId = 'run/task/0';
  const home = partitionFor(groupId, kafka.partitions);
  const topic = topicOf(prefix, 'group.commanded');
  const raw = (value: Buffer, partition: number, key: string | null = groupId) =>
    kafka.producer().sendRaw({ topic, key, value, partition });
  await command(kafka, groupId, 'one');
  await raw(Buffer.from('poison'), home);
  await command(kafka, groupId, 'throw');
  await command(kafka, groupId, 'reject');
  await command(kafka, groupId, 'large');
  // Somebody's own partitioner, with the right key and with none.
  const foreign = (reason: string) =>
    stampEvent(prefix, 'foreign', 'group.commanded', { group_id: groupId, command: 'CANCEL', reason }).value ??
    Buffer.alloc(0);
  await raw(foreign('two'), (home + 1) % kafka.partitions);
  await raw(foreign('three'), (home + 2) % kafka.partitions, null);
  await raw(encodeEvent('group.commanded', { ...decodeEvent('group.commanded', foreign('x')), group_id: '' }), home);
  await command(kafka, groupId, 'last');
  await eventually('all decided', async () => {
    const reasons = (await rulings(kafka)).map(({ reason }) => reason);
    return ['one', 'two', 'three', 'last'].every((reason) => reasons.includes(reason));
  });
  const ruled = await rulings(kafka);
  expect(ruled.map(({ reason }) => reason).sort()).toEqual(['abandoned', 'abandoned', 'last', 'one', 'three', 'two']);
  expect(ruled.map(({ epoch }) => epoch).sort()).toEqual([1, 2, 3, 4, 5, 6]);
  expect(new Set(ruled.map(({ event_id: id }) => id)).size).toBe(6);
  const letters = await dead(kafka, prefix);
  expect(letters.map((headers) => headers['x-error-code']).sort()).toEqual([
    'AVRO_FRAMING',
    'EVENT_KEY_MISSING',
    'PROCESSOR_BUG',
    'PROCESSOR_BUG',
    'TEST_REJECTED',
  ]);
  const poison = letters.find((headers) => headers['x-error-code'] === 'AVRO_FRAMING');
  expect(poison).toMatchObject({ bytes: 'poison', 'x-original-topic': topic, 'x-original-partition': String(home) });
  expect(letters.find((headers) => headers['x-error-message']?.includes('allowed'))?.['x-error-message']).toMatch(
    /70\d{3} bytes, 65536 allowed/,
  );
  await eventually('no lag', async () =>
    (await kafka.admin.dataLag('group-processor', 'group.commanded')).every(({ lag }) => lag === 0),
  );
  await expectReplay(kafka);
});

it('journals what it applied, in order and with a time that never goes back', async () => {
  const { kafka } = await plane();
  let skew = 0;
  await host(kafka, { clock: () => Date.now() + skew });
  await command(kafka, 'run/task/0', 'a');
  await eventually('first', async () => (await rulings(kafka)).length === 1);
  skew = -3_600_000;
  await command(kafka, 'run/task/0', 'b');
  await eventually('second', async () => (await rulings(kafka)).length === 2);
  const entries = (await all(kafka, 'journal.group'))
    .map(({ value }) => value)
    .filter((value): value is JournalEntry => value !== null);
  expect(entries.map(({ transaction_no: no }) => no)).toEqual([1, 2]);
  expect(entries[1]?.now).toBe(entries[0]?.now);
  expect(entries.flatMap(({ applied }) => applied)).toMatchObject([
    { topic: 'group.commanded', first_offset: 0, last_offset: 0 },
    { topic: 'group.commanded', first_offset: 1, last_offset: 1 },
  ]);
  expect(entries[0]?.effects_digest).toMatch(/^[0-9a-f]{64}$/);
});

it('restores its state after many updates, in another process with nothing kept', async () => {
  const { prefix, kafka } = await plane();
  const first = await host(kafka);
  const updates = 8_000;
  for (let sent = 0; sent < updates; sent += 2_000)
    await Promise.all(
      Array.from({ length: 2_000 }, (_, n) => command(kafka, `run/task/${(sent + n) % 500}`, `u${sent + n}`)),
    );
  await eventually('all applied', () => first.applied === updates, 60_000);
  await first.stop();
  const other = open(prefix, 'other');
  const second = await host(other);
  expect(second.tasks().reduce((sum, { entries }) => sum + entries, 0)).toBe(500);
  await command(kafka, 'run/task/7', 'more');
  await eventually('counted on', async () => {
    const last = (await all(other, 'rollout.ruled')).find(({ value }) => value?.reason === 'more');
    return last?.value?.epoch === updates / 500 + 1;
  });
});

it('fires timers, lets heartbeats extend them, and judges none before it has caught up after an outage', async () => {
  const { prefix, kafka } = await plane();
  const fired = async (groupId: string): Promise<number> =>
    (await rulings(kafka)).filter(({ reason, group_id: id }) => reason === 'fired' && id === groupId).length;
  const first = await host(kafka);
  const [lapsing, kept] = ['run/task/0', 'run/task/1'];
  const alive = async (): Promise<void> => {
    const partition = partitionFor(kept, kafka.partitions);
    await kafka
      .producer()
      .send(
        'rollout.alive',
        { worker_id: 'w', partition, work: [{ work_id: 'x', group_id: kept, epoch: 1 }] },
        { partition, key: 'w' },
      );
  };
  await command(kafka, lapsing, 'timer 1500');
  await command(kafka, kept, 'timer 1500');
  const beating = setInterval(() => void alive(), 300);
  try {
    await eventually('the unattended lease lapsed', async () => (await fired(lapsing)) === 1);
    expect(await fired(kept)).toBe(0);
    // An outage longer than every lease; what was stored meanwhile extends it before time is judged.
    await first.stop();
    await new Promise((resolve) => setTimeout(resolve, 3_500));
    const second = await host(open(prefix, 'other'), { timings: { heartbeatMs: 300, graceMs: 1_500 } });
    await eventually('judging', () => second.tasks().every(({ judging }) => judging));
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await fired(kept)).toBe(0);
    clearInterval(beating);
    await eventually('the other lapsed', async () => (await fired(kept)) === 1);
    expect(await fired(lapsing)).toBe(1);
    await second.stop();
    expect(await expectReplay(kafka)).toBeGreaterThanOrEqual(2);
  } finally {
    clearInterval(beating);
  }
});
