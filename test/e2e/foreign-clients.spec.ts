import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import avsc from 'avsc';
import { Kafka, logLevel } from 'kafkajs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { repositoryRoot } from '@espalier/local-plane';
import { LoopSession } from './support/loop-session.ts';

const MINUTES = 60_000;
/** What a user of another language has: an Avro library and the files in schemas/. */
const schema = (topic: string): avsc.Type =>
  avsc.Type.forSchema(
    JSON.parse(readFileSync(join(repositoryRoot(), 'schemas', `${topic}.avsc`), 'utf8')) as avsc.Schema,
  );

let session: LoopSession;
beforeAll(async () => {
  session = await LoopSession.start();
}, 3 * MINUTES);
afterAll(() => session.stop(), MINUTES);

it(
  'a plain producer with another partitioner publishes a task, and a plain consumer reads its trajectory',
  async () => {
    await session.createRun('foreign', ['rate-limiter'], { tasks: [], target: { rollouts: 6 }, repeat_tasks: false });
    await session.createRun('model', ['rate-limiter'], { target: { rollouts: 1 } });
    const [task] = await session.stored('task.submitted');
    expect(task?.run_id).toBe('model');

    const kafka = new Kafka({ brokers: session.plane.brokers, logLevel: logLevel.NOTHING });
    const trajectories: { run_id: string; trajectory_id: string; task_id: string }[] = [];
    const consumer = kafka.consumer({ groupId: `${session.plane.prefix}.plain` });
    await consumer.connect();
    await consumer.subscribe({ topics: [`${session.plane.prefix}.trajectory.scored.v1`], fromBeginning: true });
    const scored = schema('trajectory.scored');
    await consumer.run({
      eachMessage: ({ message }) => {
        const value = message.value ?? Buffer.alloc(0);
        expect(value.subarray(0, 2).toString('hex')).toBe('c301');
        trajectories.push(scored.fromBuffer(value.subarray(10)) as (typeof trajectories)[number]);
        return Promise.resolve();
      },
    });

    // The fingerprint of the schema, taken from what another producer wrote; every record goes to partition 0.
    const producer = kafka.producer({ createPartitioner: () => () => 0 });
    await producer.connect();
    const header = await headerOf(kafka, `${session.plane.prefix}.task.submitted.v1`);
    const event = {
      ...task,
      event_id: 'from-elsewhere',
      run_id: 'foreign',
      task_id: 'plain',
      producer: 'plain',
      idempotency_key: null,
    };
    await producer.send({
      topic: `${session.plane.prefix}.task.submitted.v1`,
      messages: [{ key: 'foreign', value: Buffer.concat([header, schema('task.submitted').toBuffer(event)]) }],
    });
    await producer.disconnect();

    await expect
      .poll(() => trajectories.filter((trajectory) => trajectory.run_id === 'foreign').length, {
        timeout: 5 * MINUTES,
        interval: 200,
      })
      .toBeGreaterThan(0);
    expect(trajectories.find((trajectory) => trajectory.run_id === 'foreign')?.task_id).toBe('plain');
    await consumer.disconnect();
  },
  10 * MINUTES,
);

async function headerOf(kafka: Kafka, topic: string): Promise<Buffer> {
  const consumer = kafka.consumer({ groupId: `header-${Date.now()}` });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  const header = await new Promise<Buffer>((resolve) => {
    void consumer.run({
      eachMessage: ({ message }) => {
        if (message.value) resolve(message.value.subarray(0, 10));
        return Promise.resolve();
      },
    });
  });
  await consumer.disconnect();
  return header;
}
