import type { KafkaLogger } from '../port.ts';

/** Drops everything; used where a connection brings no logger. */
export const silentLogger: KafkaLogger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
