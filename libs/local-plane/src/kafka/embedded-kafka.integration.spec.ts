import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isAlive } from '../supervisor/signals.ts';
import { freePorts, isPortFree } from '../workspace/free-ports.ts';
import { brokerAnswers } from './broker-probe.ts';
import { EmbeddedKafka, startDetachedBroker, stopRunningBroker } from './embedded-kafka.ts';

const client = (brokers: string[]): Kafka => new Kafka({ brokers, logLevel: logLevel.NOTHING });

async function produce(brokers: string[], topic: string, values: string[]): Promise<void> {
  const producer = client(brokers).producer({ allowAutoTopicCreation: false });
  await producer.connect();
  await producer.send({ topic, acks: -1, messages: values.map((value) => ({ key: 'k', value })) });
  await producer.disconnect();
}

/** All values of partition 0, in order. */
async function consume(brokers: string[], topic: string, count: number): Promise<string[]> {
  const consumer = client(brokers).consumer({ groupId: `reader-${Math.random()}` });
  const values: string[] = [];
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await new Promise<void>((resolve, reject) => {
    consumer
      .run({
        eachMessage: ({ message }) => {
          values.push(String(message.value));
          if (values.length === count) resolve();
          return Promise.resolve();
        },
      })
      .catch(reject);
  });
  await consumer.disconnect();
  return values;
}

describe('EmbeddedKafka', { timeout: 120_000 }, () => {
  let dir: string;
  let kafka: EmbeddedKafka;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'espalier-kafka-'));
    kafka = new EmbeddedKafka({ dir });
    await kafka.start();
    const admin = client(kafka.brokers).admin();
    await admin.connect();
    await admin.createTopics({ topics: [{ topic: 'kept', numPartitions: 1 }], waitForLeaders: true });
    await admin.disconnect();
  }, 120_000);

  afterAll(async () => {
    await kafka.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  it('keeps records and its address over SIGKILL and over an orderly stop', async () => {
    const address = kafka.brokers;
    await produce(address, 'kept', ['before the kill']);
    await kafka.kill();
    expect(await brokerAnswers(address, 500)).toBe(false);

    await kafka.start();
    expect(kafka.brokers).toEqual(address);
    await produce(address, 'kept', ['before the stop']);
    const { pid } = kafka;
    await kafka.stop();
    expect(pid !== null && isAlive(pid)).toBe(false);
    expect(kafka.pid).toBeNull();

    await kafka.start();
    await produce(address, 'kept', ['at last']);
    expect(await consume(address, 'kept', 3)).toEqual(['before the kill', 'before the stop', 'at last']);
  });

  it('commits transactions and refuses topics that nobody created', async () => {
    const producer = client(kafka.brokers).producer({
      transactionalId: 'spec',
      maxInFlightRequests: 1,
      idempotent: true,
    });
    await producer.connect();
    const transaction = await producer.transaction();
    await transaction.send({ topic: 'kept', messages: [{ key: 'k', value: 'in a transaction' }] });
    await transaction.commit();
    await producer.disconnect();
    expect(await consume(kafka.brokers, 'kept', 4)).toContain('in a transaction');

    const admin = client(kafka.brokers).admin({ retry: { retries: 0 } });
    await admin.connect();
    await expect(admin.fetchTopicOffsets('never-created')).rejects.toThrow();
    expect(await admin.listTopics()).not.toContain('never-created');
    await admin.disconnect();
  });

  it('attaches to a broker that already runs on the folder, and leaves it running', async () => {
    const second = new EmbeddedKafka({ dir });
    await second.start();
    expect(second.attached).toBe(true);
    expect(second.brokers).toEqual(kafka.brokers);
    expect(second.pid).toBe(kafka.pid);
    await second.stop();
    expect(await brokerAnswers(kafka.brokers)).toBe(true);
  });

  it('refuses a port that is taken, naming it', async () => {
    const taken = Number(kafka.brokers[0]?.split(':')[1]);
    const other = mkdtempSync(join(tmpdir(), 'espalier-kafka-'));
    const refused = new EmbeddedKafka({ dir: other, port: taken }).start();
    await expect(refused).rejects.toMatchObject({ code: 'PLANE_PORT_TAKEN' });
    await expect(refused).rejects.toThrow(String(taken));
    rmSync(other, { recursive: true, force: true });
  });

  it('says what to do when the jars are missing', async () => {
    const missing = new EmbeddedKafka({ dir, jarsDir: join(dir, 'nowhere') });
    await kafka.stop();
    await expect(missing.start()).rejects.toMatchObject({ code: 'PLANE_KAFKA_JARS_MISSING' });
  });
});

describe('a detached broker', { timeout: 120_000 }, () => {
  it('is found again and stopped by its folder', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'espalier-kafka-'));
    const [port = 0] = await freePorts(1);
    try {
      const broker = await startDetachedBroker({ dir, port });
      expect(await startDetachedBroker({ dir, port })).toMatchObject({ pid: broker.pid, port });
      expect(await stopRunningBroker(dir)).toBe(true);
      expect(await isPortFree(port)).toBe(true);
      expect(await stopRunningBroker(dir)).toBe(false);
    } finally {
      await stopRunningBroker(dir);
      rmSync(dir, { recursive: true, force: true });
    }
  });
});
