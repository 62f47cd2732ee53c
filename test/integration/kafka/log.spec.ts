import { profiles, topicOf } from '@espalier/contracts';
import { KafkaTopologyError, partitionFor, RecordTooLargeError, type KafkaPort } from '@espalier/kafka';
import { CompressionTypes, ConfigResourceTypes, Kafka, logLevel, Partitioners } from 'kafkajs';
import { expect, inject, it } from 'vitest';
import { eventually, freshPrefix, open } from './open.ts';

const command = (kafka: KafkaPort, runId: string, id: string) =>
  kafka.producer().send('run.commanded', { run_id: runId, command: 'PAUSE', command_id: id });

it('creates the topics of the catalogue once, whoever asks at the same time, and refuses others', async () => {
  const prefix = freshPrefix();
  const several = [open(prefix, 'a'), open(prefix, 'b'), open(prefix, 'c')];
  await Promise.all(several.map((kafka) => kafka.admin.ensureTopics()));
  const described = (await several[0]?.admin.describe()) ?? [];
  expect(described.every(({ partitions }) => partitions === profiles.embedded.partitions)).toBe(true);
  expect(described.map(({ topic }) => topic)).toContain(`${prefix}.rollout.requested.v1.retry.rollout-runner.5000ms`);
  const client = new Kafka({ brokers: inject('brokers'), logLevel: logLevel.NOTHING });
  const admin = client.admin();
  await admin.connect();
  const other = freshPrefix();
  await admin.createTopics({
    waitForLeaders: false,
    topics: [{ topic: topicOf(other, 'run.commanded'), numPartitions: 3 }],
  });
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topicOf(prefix, 'state.group') }],
  });
  const configs = resources[0]?.configEntries ?? [];
  await admin.disconnect();
  expect(configs.find(({ configName }) => configName === 'cleanup.policy')?.configValue).toBe('compact');
  const refused = open(other).admin.ensureTopics();
  await expect(refused).rejects.toThrow(KafkaTopologyError);
  await expect(refused).rejects.toThrow(/run\.commanded\.v1 has 3 partitions/);
});

it('keeps the order of one caller, tells where each record is, and puts keys where Java would', async () => {
  const kafka = open(freshPrefix());
  await kafka.admin.ensureTopics(['run.commanded', 'group.commanded']);
  const receipts = await Promise.all(Array.from({ length: 500 }, (_, n) => command(kafka, 'run-a', `c${n}`)));
  expect(new Set(receipts.map(({ partition }) => partition))).toEqual(
    new Set([partitionFor('run-a', kafka.partitions)]),
  );
  expect(receipts.map(({ offset }) => offset)).toEqual(Array.from({ length: 500 }, (_, n) => n));
  let n = 0;
  for await (const { value, offset, headers } of kafka.reader().readAll('run.commanded')) {
    expect([value?.command_id, offset]).toEqual([`c${n}`, n]);
    expect(headers).toMatchObject({ 'x-run-id': 'run-a', 'x-event-id': receipts[n]?.eventId });
    n += 1;
  }
  expect(n).toBe(500);
  const large = kafka
    .producer()
    .sendRaw({ topic: `${kafka.connection.prefix}.run.commanded.v1`, key: 'k', value: Buffer.alloc(1_100_000) });
  await expect(large).rejects.toThrow(RecordTooLargeError);
  // Together more than one request may carry, each within its limit.
  const bulky = Array.from({ length: 12 }, () =>
    kafka
      .producer()
      .sendRaw({ topic: `${kafka.connection.prefix}.run.commanded.v1`, key: 'k', value: Buffer.alloc(900_000) }),
  );
  expect(new Set((await Promise.all(bulky)).map(({ offset }) => offset)).size).toBe(12);
});

it('reads ranges exactly, with transaction markers at their end and aborted records inside', async () => {
  const prefix = freshPrefix();
  const kafka = open(prefix);
  await kafka.admin.ensureTopics(['run.commanded', 'group.commanded']);
  const topic = topicOf(prefix, 'run.commanded');
  const transactional = kafka.transactional('reader');
  await transactional.open();
  const put = (text: string) =>
    transactional.transact({ records: [{ topic, key: 'k', value: Buffer.from(text), partition: 2 }] });
  expect(await put('a')).toEqual([0]);
  expect(await put('b')).toEqual([2]);
  await transactional.close();
  // A transaction that its owner gave up.
  const client = new Kafka({ brokers: inject('brokers'), logLevel: logLevel.NOTHING });
  const producer = client.producer({
    transactionalId: `${prefix}.x`,
    maxInFlightRequests: 1,
    idempotent: true,
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  await producer.connect();
  const aborted = await producer.transaction();
  await aborted.send({ topic, messages: [{ key: 'k', value: 'aborted', partition: 2 }] });
  await aborted.abort();
  await producer.disconnect();
  await kafka.producer().sendRaw({ topic, key: 'k', value: Buffer.from('c'), partition: 2 });
  const reader = kafka.reader();
  const read = async (from: number, to?: number): Promise<string[]> => {
    const values: string[] = [];
    for await (const { value, offset } of reader.readRange(topic, 2, from, to))
      values.push(`${offset}${value?.toString()}`);
    return values;
  };
  const end = (await kafka.admin.endOffsets(topic)).find(({ partition }) => partition === 2)?.offset;
  expect(end).toBe(7);
  expect(await read(0)).toEqual(['0a', '2b', '6c']);
  expect(await read(0, 2)).toEqual(['0a']);
  expect(await read(1, 4)).toEqual(['2b']);
  expect(await read(3, 6)).toEqual([]);
  expect(await read(7)).toEqual([]);
});

it('reads what foreign producers compress', async () => {
  const prefix = freshPrefix();
  const kafka = open(prefix);
  await kafka.admin.ensureTopics(['run.commanded', 'group.commanded']);
  const topic = topicOf(prefix, 'run.commanded');
  const client = new Kafka({ brokers: inject('brokers'), logLevel: logLevel.NOTHING });
  const producer = client.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  for (const compression of [CompressionTypes.GZIP, CompressionTypes.ZSTD])
    await producer.send({
      topic,
      compression,
      messages: [{ key: 'k', value: `codec ${compression}`.repeat(50), partition: 0 }],
    });
  await producer.disconnect();
  const values: string[] = [];
  for await (const { value } of kafka.reader().readRange(topic, 0, 0)) values.push(value?.toString().slice(0, 7) ?? '');
  expect(values).toEqual([`codec ${CompressionTypes.GZIP}`, `codec ${CompressionTypes.ZSTD}`]);
});

it('broadcasts to every instance all that comes after its start, and survives records that do not decode', async () => {
  const prefix = freshPrefix();
  const kafka = open(prefix);
  await kafka.admin.ensureTopics(['run.commanded', 'group.commanded']);
  await command(kafka, 'run', 'before');
  const heard: string[][] = [[], []];
  const undecodable: number[] = [];
  const consumers = heard.map((list, index) =>
    open(prefix, `i${index}`).broadcast({
      topics: ['run.commanded', 'group.commanded'],
      from: 'latest',
      handler: (event) => {
        if (event.topic === 'run.commanded') list.push(event.value.command_id);
        else throw new Error('a handler that throws');
      },
      onUndecodable: (record) => undecodable.push(record.offset),
    }),
  );
  for (const consumer of consumers) {
    await consumer.start();
    // At once: nothing may be missed between the start and the first fetch.
    await Promise.all(Array.from({ length: 20 }, (_, n) => command(kafka, `run${n}`, `c${n}`)));
  }
  await kafka.producer().send('group.commanded', { group_id: 'g', command: 'CANCEL', reason: 'x' });
  await kafka.producer().sendRaw({ topic: topicOf(prefix, 'run.commanded'), key: 'k', value: Buffer.from('poison') });
  await command(kafka, 'run', 'last');
  await Promise.all(consumers.map((consumer) => consumer.caughtUp()));
  expect(heard.map((list) => list.length)).toEqual([41, 21]);
  expect(heard[0]).not.toContain('before');
  expect(undecodable).toHaveLength(2);
  const all: string[] = [];
  const late = kafka.broadcast({
    topics: ['run.commanded'],
    from: 'earliest',
    handler: ({ value }) => void all.push(value.command_id),
  });
  await late.start();
  await late.caughtUp();
  expect(all).toHaveLength(42);
  // No group stays behind.
  const client = new Kafka({ brokers: inject('brokers'), logLevel: logLevel.NOTHING });
  const admin = client.admin();
  await admin.connect();
  expect((await admin.listGroups()).groups.filter(({ groupId }) => groupId.startsWith(prefix))).toEqual([]);
  await admin.disconnect();
  await eventually('healthy', () => consumers.every((consumer) => consumer.healthy()));
});
