import { openKafka } from '@espalier/kafka';
import type { PlaneSettings } from './plane-options.ts';

/** Creates what is missing of the topic catalogue, before any service asks for it. */
export async function preparePlaneTopics(
  brokers: readonly string[],
  { prefix, profile }: PlaneSettings,
): Promise<void> {
  const kafka = openKafka({ brokers: [...brokers], clientId: 'local-plane', prefix, profile });
  try {
    await kafka.admin.ensureTopics();
  } finally {
    await kafka.close();
  }
}
