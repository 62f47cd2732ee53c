import { randomBytes } from 'node:crypto';
import { openKafka, type KafkaConnection, type KafkaPort } from '@espalier/kafka';
import { afterEach, inject } from 'vitest';

const opened: KafkaPort[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((kafka) => kafka.close()));
});

/** A prefix nobody else uses. */
export const freshPrefix = (): string => `t${randomBytes(5).toString('hex')}`;

/** Opens the suite's broker; closed after the test. */
export function open(prefix: string, clientId = 'test', more: Partial<KafkaConnection> = {}): KafkaPort {
  const kafka = openKafka({ brokers: inject('brokers'), clientId, prefix, profile: 'embedded', ...more });
  opened.push(kafka);
  return kafka;
}

/** Waits for `condition`; fails with `what` after `withinMs`. */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = 30_000,
): Promise<void> {
  const until = Date.now() + withinMs;
  while (!(await condition())) {
    if (Date.now() > until) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
