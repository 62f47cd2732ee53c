import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { encodeEvent, schemaFingerprint } from '@espalier/avro';
import { deadTopicOf, groupIdOf, topicNames, topicOf, topics, type TopicName } from '@espalier/contracts';
import { LoopSession } from './support/loop-session.ts';

const MINUTES = 60_000;

let session: LoopSession;
beforeAll(async () => {
  session = await LoopSession.start();
}, 3 * MINUTES);
afterAll(() => session.stop(), MINUTES);

/** A valid event of another topic than `name`. */
function foreign(name: TopicName): Buffer {
  const envelope = { event_id: 'poison', occurred_at: 1, run_id: 'poison', producer: 'poison' };
  return name === 'learner.joined'
    ? encodeEvent('group.commanded', { ...envelope, group_id: 'poison/t/0', command: 'CANCEL', reason: 'POISON' })
    : encodeEvent('learner.joined', { ...envelope, command_id: 'c', learner_id: 'l' });
}

/** What a careless or hostile producer may write to any topic. */
const poisons = (name: TopicName): Record<string, Buffer> => ({
  empty: Buffer.alloc(0),
  truncated: foreign(name).subarray(0, 14),
  random: randomBytes(200),
  'another schema': foreign(name),
  'block bomb': Buffer.concat([headerOf(name), Buffer.from('feffffff0f'.repeat(40), 'hex')]),
});

/** The topic's own single-object header. */
function headerOf(name: TopicName): Buffer {
  const header = Buffer.from([0xc3, 0x01, 0, 0, 0, 0, 0, 0, 0, 0]);
  header.writeBigUInt64LE(BigInt(`0x${schemaFingerprint(name)}`), 2);
  return header;
}

it(
  'goes on when every topic is fed records that are not what they should be, and keeps their bytes',
  async () => {
    await session.createRun('before', ['rate-limiter'], { target: { rollouts: 4 } });
    await session.ended('before', 5 * MINUTES);

    const producer = session.kafka.producer('poison');
    let fed = 0;
    for (const name of topicNames)
      for (const [kind, value] of Object.entries(poisons(name))) {
        const partition = fed++ % session.kafka.partitions;
        await producer.sendRaw({ topic: topicOf(session.plane.prefix, name), key: `poison-${kind}`, value, partition });
      }

    await session.createRun('after', ['rate-limiter', 'log-level'], { target: { rollouts: 12 } });
    const ended = await session.ended('after', 8 * MINUTES);
    expect(ended.state).toBe('COMPLETED');

    // Heartbeats say who is alive now: one that says nothing is dropped, not kept.
    for (const name of topicNames.filter((topic) => topics[topic].kind !== 'heartbeat'))
      for (const { group } of topics[name].consumers) {
        const dead = deadTopicOf(session.plane.prefix, name, group);
        const count = async (): Promise<number> => {
          const ends = await session.kafka.admin.endOffsets(dead);
          const values: string[] = [];
          for (const { partition } of ends)
            for await (const record of session.kafka.reader().readRange(dead, partition, 0))
              values.push(record.value?.toString('hex') ?? '');
          return values.length;
        };
        await expect
          .poll(count, { timeout: MINUTES, interval: 500, message: `${groupIdOf('', group)} ${dead}` })
          .toBeGreaterThanOrEqual(4);
      }
    expect(session.plane.status().every((process) => process.state === 'ready' && process.restarts === 0)).toBe(true);

    const audit = await session.cli('audit', 'after', '--json');
    expect(audit.code, audit.stdout + audit.stderr).toBe(0);
  },
  15 * MINUTES,
);
