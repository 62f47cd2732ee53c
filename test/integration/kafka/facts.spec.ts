import { deadTopicOf, retryTopicOf, topicOf } from '@espalier/contracts';
import { KafkaConfigError, RetryableError, TerminalError, type Consumer, type KafkaPort } from '@espalier/kafka';
import { expect, it } from 'vitest';
import { eventually, freshPrefix, open } from './open.ts';
import { fast } from './requests.ts';

const GROUP = 'value-reranker';

async function plane(): Promise<{ prefix: string; kafka: KafkaPort }> {
  const prefix = freshPrefix();
  const kafka = open(prefix);
  await kafka.admin.ensureTopics(['group.decided']);
  return { prefix, kafka };
}

const decided = (kafka: KafkaPort, groupId: string) =>
  kafka.producer().send('group.decided', {
    run_id: groupId.split('/')[0] ?? null,
    group_id: groupId,
    task_id: 'task',
    outcome: 'ADMITTED',
    selection: 'EXACT',
    members: [],
    scored: 0,
    passed: 0,
  });

function consumer(
  kafka: KafkaPort,
  handle: (groupId: string, attempt: number) => void | Promise<void>,
  concurrency = 1,
): Consumer {
  return kafka.consumeFacts({
    group: GROUP,
    topics: ['group.decided'],
    concurrency,
    handler: async ({ value, context }) => handle(value.group_id, Number(context.headers['x-attempt'] ?? 0)),
    timings: fast,
  });
}

const lagOf = async (kafka: KafkaPort): Promise<number> =>
  (await kafka.admin.dataLag(GROUP, 'group.decided')).reduce((sum, { lag }) => sum + lag, 0);

async function countOf(kafka: KafkaPort, topic: string): Promise<number> {
  let count = 0;
  for (let partition = 0; partition < kafka.partitions; partition += 1)
    for await (const record of kafka.reader().readRange(topic, partition, 0)) count += record.value === null ? 0 : 1;
  return count;
}

it('handles, dead-letters and retries, in this order of blame, and commits past all of it', async () => {
  const { prefix, kafka } = await plane();
  const tries = new Map<string, number[]>();
  const consuming = consumer(kafka, (groupId, attempt) => {
    tries.set(groupId, [...(tries.get(groupId) ?? []), attempt]);
    if (groupId === 'run/bad/0') throw new TerminalError('TEST_BAD', 'never');
    if (groupId === 'run/late/0' && attempt === 0) throw new RetryableError('TEST_LATE', 'not yet');
  });
  await consuming.start();
  const topic = topicOf(prefix, 'group.decided');
  await kafka.producer().sendRaw({ topic, key: 'run', value: Buffer.from('poison') });
  for (const groupId of ['run/good/0', 'run/bad/0', 'run/late/0', 'run/good/1']) await decided(kafka, groupId);
  await eventually('good ones', () => tries.has('run/good/1'));
  await eventually('the late one again', () => tries.get('run/late/0')?.length === 2, 20_000);
  expect(tries.get('run/late/0')).toEqual([0, 1]);
  expect(await countOf(kafka, deadTopicOf(prefix, 'group.decided', GROUP))).toBe(2);
  await eventually('no lag', async () => (await lagOf(kafka)) === 0);
  await eventually('nor on the retry topic', async () =>
    (await kafka.admin.dataLag(GROUP, retryTopicOf(prefix, 'group.decided', GROUP, 5000))).every(
      ({ lag }) => lag === 0,
    ),
  );
  expect(consuming.healthy()).toBe(true);
});

it('commits nothing below a record that is still in hand, and handles it again after a crash', async () => {
  const { prefix, kafka } = await plane();
  for (let n = 0; n < 20; n += 1) await decided(kafka, `run/t${n}/0`);
  const first = open(prefix, 'first');
  const seen: string[] = [];
  let free: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (free = resolve));
  const consuming = consumer(
    first,
    async (groupId) => {
      if (groupId === 'run/t5/0') await held;
      seen.push(groupId);
    },
    30,
  );
  await consuming.start();
  // One key, so one partition and, per key, one after another: nothing behind the held one is handled.
  await eventually('five', () => seen.length === 5);
  await eventually('five committed', async () => (await lagOf(kafka)) === 15);
  const stopping = consuming.stop();
  free();
  await stopping;
  const again: string[] = [];
  const second = consumer(open(prefix, 'second'), (groupId) => void again.push(groupId));
  await second.start();
  await eventually('the rest', () => again.at(-1) === 'run/t19/0');
  expect(new Set([...seen, ...again]).size).toBe(20);
  expect(again).not.toContain('run/t4/0');
});

it('shares partitions between members, and takes over from one that leaves', async () => {
  const { prefix, kafka } = await plane();
  const seen = new Map<string, string[]>();
  const member = (name: string): Consumer =>
    consumer(open(prefix, name), (groupId) => void seen.set(groupId, [...(seen.get(groupId) ?? []), name]));
  const [one, two] = [member('one'), member('two')];
  await one.start();
  await two.start();
  const send = async (round: number): Promise<void> => {
    await Promise.all(Array.from({ length: 40 }, (_, n) => decided(kafka, `run${n}/t${round}/0`)));
  };
  // Until both have their share.
  let round = 0;
  await eventually('both take part', async () => {
    await send(round++);
    return new Set([...seen.values()].flat()).size === 2;
  });
  await two.stop();
  await send(round++);
  await eventually('one takes all', () => seen.size === round * 40, 20_000);
  await eventually('no lag', async () => (await lagOf(kafka)) === 0);
  await one.stop();
});

it('refuses a group that has no dead-letter topic', () => {
  const kafka = open(freshPrefix());
  expect(() =>
    kafka.consumeFacts({ group: 'somebody', topics: ['run.reported'], handler: () => Promise.resolve() }),
  ).toThrow(KafkaConfigError);
});
