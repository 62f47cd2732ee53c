import { afterEach, expect, inject, it } from 'vitest';
import type { KafkaPort } from '@espalier/kafka';
import { countingTopics } from './counting-machine.ts';
import { eventually, freshPrefix, open } from './open.ts';
import { Replicas } from './replicas.ts';

const GROUPS = 60;
let replicas: Replicas | undefined;

afterEach(async () => {
  await replicas?.close();
});

/** Sends `total` records over two topics at about `rate` a second. */
async function load(kafka: KafkaPort, total: number, rate: number): Promise<void> {
  const producer = kafka.producer('load');
  const step = Math.max(2, Math.floor(rate / 20));
  for (let sent = 0; sent < total;) {
    const batch: Promise<unknown>[] = [];
    for (let n = 0; n < step && sent < total; n += 1, sent += 1) {
      const groupId = `run/task/${sent % GROUPS}`;
      batch.push(
        sent % 2 === 0
          ? producer.send('group.commanded', { group_id: groupId, command: 'CANCEL', reason: `id-${sent}` })
          : producer.send('rollout.reported', {
              group_id: groupId,
              attempt_id: groupId,
              work: 'ROLLOUT',
              work_id: `id-${sent}`,
              kind: 'PHASE',
              worker_id: 'w',
              claim_id: 'c',
            }),
      );
    }
    await Promise.all(batch);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

it('loses nothing and applies nothing twice while replicas join, leave, are killed and frozen', async () => {
  const prefix = freshPrefix();
  const kafka = open(prefix);
  await kafka.admin.ensureTopics(countingTopics);
  const total = 12_000;
  const seen = new Map<string, number>();
  const counts = new Map<string, number>();
  const broken: string[] = [];
  const results = kafka.broadcast({
    topics: ['rollout.ruled'],
    from: 'earliest',
    handler: ({ value: { reason, group_id: groupId, epoch } }) => {
      seen.set(reason ?? '', (seen.get(reason ?? '') ?? 0) + 1);
      if (epoch !== (counts.get(groupId) ?? 0) + 1) broken.push(`${groupId}: ${counts.get(groupId)} then ${epoch}`);
      counts.set(groupId, epoch);
    },
  });
  await results.start();
  const r = new Replicas(inject('brokers'), prefix);
  replicas = r;
  r.start('a');
  r.start('b');
  await pause(2_000);
  const loaded = load(kafka, total, 400);
  await pause(3_000);
  r.signal('a', 'SIGKILL');
  await pause(1_500);
  r.start('a');
  await pause(4_000);
  r.signal('b', 'SIGSTOP');
  await pause(9_000);
  r.signal('b', 'SIGCONT');
  await pause(4_000);
  r.start('c');
  await pause(3_000);
  r.signal('b', 'SIGKILL');
  r.signal('c', 'SIGTERM');
  await pause(2_000);
  r.start('b');
  await loaded;
  try {
    await eventually('all counted', () => seen.size === total, 40_000);
  } catch (error) {
    throw new Error(`${seen.size} of ${total}\n${r.log().slice(-6000)}`, { cause: error });
  }
  await results.caughtUp();
  expect([...seen].filter(([, times]) => times > 1)).toEqual([]);
  expect(broken).toEqual([]);
  expect([...counts.values()].reduce((a, b) => a + b, 0)).toBe(total);

  // No silent survivor: each of the living still does its share.
  expect(r.alive('a') && r.alive('b')).toBe(true);
  r.signal('a', 'SIGKILL');
  const before = seen.size;
  await load(kafka, 120, 400);
  await eventually('b alone', () => [...seen.values()].reduce((a, b) => a + b, 0) === before + 120, 30_000);
}, 150_000);
