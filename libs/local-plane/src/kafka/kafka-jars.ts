import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PlaneError } from '../errors/plane-errors.ts';

/** Version of Apache Kafka that the one-machine plane runs. */
export const KAFKA_VERSION = '4.3.1';

/** Where setup puts the jars of Apache Kafka. */
export function kafkaJarsDir(root: string): string {
  return join(root, '.espalier', 'cache', `kafka-${KAFKA_VERSION}`, 'libs');
}

/** @throws PlaneError `PLANE_KAFKA_JARS_MISSING` */
export function requireKafkaJars(dir: string): void {
  if (existsSync(join(dir, `kafka_2.13-${KAFKA_VERSION}.jar`))) return;
  throw new PlaneError(
    'PLANE_KAFKA_JARS_MISSING',
    `Apache Kafka ${KAFKA_VERSION} is not in ${dir}: run 'node tools/bootstrap/setup.mjs' in the root of the repository.`,
  );
}
