import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openKafka, type KafkaPort } from '@espalier/kafka';
import { EmbeddedKafka } from '@espalier/local-plane';
import { ProcessorHost } from '@espalier/processor';
import { afterEach, expect, it } from 'vitest';
import { countingMachine } from '../processor/counting-machine.ts';
import { eventually } from './open.ts';
import { fastWork, group, request, workTopics } from './requests.ts';

const dirs: string[] = [];
const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});

it('goes on by itself after the broker is killed and comes back', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'espalier-loss-'));
  dirs.push(dir);
  const broker = new EmbeddedKafka({ dir });
  await broker.start();
  closers.push(() => broker.stop());
  const connect = (clientId: string): KafkaPort => {
    const kafka = openKafka({ brokers: broker.brokers, clientId, prefix: 'loss', profile: 'embedded' });
    closers.push(() => kafka.close());
    return kafka;
  };
  const kafka = connect('test');
  await kafka.admin.ensureTopics([...workTopics, 'group.commanded', 'run.commanded', 'state.group', 'journal.group']);

  const fatal: Error[] = [];
  const host = new ProcessorHost({
    kafka: connect('processor'),
    machine: countingMachine,
    group: 'group-processor',
    timings: { heartbeatMs: 500, graceMs: 300 },
    onFatal: (error) => fatal.push(error),
  });
  closers.push(() => host.stop());
  await host.start();
  const counted: string[] = [];
  const results = connect('results').broadcast({
    topics: ['rollout.ruled'],
    from: 'earliest',
    handler: ({ value }) => void counted.push(`${value.group_id} ${value.epoch} ${value.reason}`),
  });
  await results.start();
  const facts: string[] = [];
  const consumer = connect('facts').consumeFacts({
    group: 'run-processor',
    topics: ['run.commanded'],
    handler: ({ value }) => {
      facts.push(value.command_id);
      return Promise.resolve();
    },
    timings: { sessionTimeoutMs: 6_000, heartbeatMs: 500 },
  });
  await consumer.start();
  const ran: string[] = [];
  const worker = connect('w1').consumeWork({
    topic: 'scoring.requested',
    group: 'reward-scorer',
    work: 'SCORING',
    workerId: 'w1',
    slots: 4,
    handler: (scoring) => {
      ran.push(scoring.work_id);
      return Promise.resolve();
    },
    onFailure: () => Promise.resolve(),
    timings: fastWork,
  });
  await worker.start();
  await group(connect('group'), () => ({ epoch: 1 }));

  const producer = kafka.producer();
  const { task } = request(0);
  const round = async (name: string): Promise<void> => {
    await Promise.all([
      producer.send('group.commanded', { group_id: 'run/task/0', command: 'CANCEL', reason: name }),
      producer.send('run.commanded', { run_id: 'run', command: 'PAUSE', command_id: name }),
      producer.send('scoring.requested', {
        run_id: 'run',
        group_id: 'run/task/9',
        attempt_id: 'run/task/9/r0/a0',
        trajectory_id: 'run/task/9/r0/a0/t',
        work_id: `run/task/9/r0/a0/t/verifier@1#${name}`,
        scorer: 'verifier',
        scorer_version: '1',
        required: true,
        deadline_at: Date.now() + 600_000,
        task,
      }),
    ]);
    const sayings = (): string =>
      JSON.stringify({
        counted,
        facts,
        ran,
        healthy: [host.healthy(), consumer.healthy(), worker.healthy()],
        tasks: host.tasks(),
      });
    await eventually(
      'everything of the round',
      () =>
        counted.some((line) => line.endsWith(` ${name}`)) &&
        facts.includes(name) &&
        ran.some((id) => id.endsWith(`#${name}`)),
      60_000,
    ).catch((error: unknown) => {
      throw new Error(sayings(), { cause: error });
    });
  };
  await round('before');
  await broker.kill();
  const during = round('during');
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  await broker.start();
  await during;
  await round('after');
  expect(fatal).toEqual([]);
  expect(counted.filter((line) => line.endsWith(' after'))).toHaveLength(1);
  expect(host.healthy() && consumer.healthy() && worker.healthy()).toBe(true);
}, 180_000);
