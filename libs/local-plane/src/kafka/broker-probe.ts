import { Kafka, logLevel } from 'kafkajs';

/**
 * Whether a broker answers at these addresses: an ApiVersions handshake, then metadata that names at least one broker
 * and a controller.
 */
export async function brokerAnswers(brokers: readonly string[], timeoutMs = 3_000): Promise<boolean> {
  const admin = new Kafka({
    clientId: 'espalier-probe',
    brokers: [...brokers],
    logLevel: logLevel.NOTHING,
    connectionTimeout: timeoutMs,
    requestTimeout: timeoutMs,
    retry: { retries: 0 },
  }).admin();
  try {
    await admin.connect();
    const cluster = await admin.describeCluster();
    return cluster.brokers.length > 0 && cluster.controller !== null;
  } catch {
    return false;
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}
