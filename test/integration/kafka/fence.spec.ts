import { topicOf } from '@espalier/contracts';
import { expect, it } from 'vitest';
import { freshPrefix, open } from './open.ts';

it('refuses every transaction of a holder that was replaced, and shows nothing of it', async () => {
  const prefix = freshPrefix();
  const [old, next] = [open(prefix, 'old'), open(prefix, 'next')];
  await old.admin.ensureTopics(['state.group']);
  const topic = topicOf(prefix, 'state.group');
  const record = (text: string) => ({ records: [{ topic, key: 'k', value: Buffer.from(text), partition: 0 }] });

  const zombie = old.transactional('group-processor.0');
  await zombie.open();
  await zombie.transact(record('old 1'));
  const owner = next.transactional('group-processor.0');
  await owner.open();
  await owner.transact(record('barrier'));
  for (let count = 0; count < 40; count += 1) await owner.transact(record(`new ${count}`));
  await expect(zombie.transact(record('old 2'))).rejects.toMatchObject({ code: 'KAFKA_FENCED' });
  await expect(zombie.transact(record('old 3'))).rejects.toThrow();
  await owner.transact(record('last'));

  const values: string[] = [];
  for await (const { value } of next.reader().readRange(topic, 0, 0)) values.push(value?.toString() ?? '');
  expect(values).toEqual(['old 1', 'barrier', ...Array.from({ length: 40 }, (_, n) => `new ${n}`), 'last']);
  await zombie.close();
  await owner.close();
});
