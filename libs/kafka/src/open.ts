import type { KafkaConnection, KafkaPort } from './port.ts';
import { KafkaClosedError } from './errors.ts';

/** Opens the port; connects lazily. */
export function openKafka(connection: KafkaConnection): KafkaPort {
  throw new KafkaClosedError(`kafka of ${connection.clientId}`);
}
