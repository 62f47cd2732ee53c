import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PlaneError } from '../errors/plane-errors.ts';
import { EmbeddedKafka } from '../kafka/embedded-kafka.ts';
import { planeSettings } from './plane-options.ts';
import type { PlaneOptions } from './plane-options.ts';
import { runningPlane } from './plane-state.ts';

/** Access to the events of a plane, whether or not it runs. */
export interface PlaneLog {
  /** `host:port` */
  readonly brokers: string[];
  readonly prefix: string;
  /** True when the broker was started for this reader and ends at `close`. */
  readonly borrowed: boolean;
  close(): Promise<void>;
}

/**
 * For commands that only read: uses your brokers, else the broker of the running plane, else starts the embedded one on the
 * data that the last plane left, until `close`.
 *
 * @throws PlaneError `PLANE_NOT_RUNNING` when no plane ever ran here.
 */
export async function openPlaneLog(
  options: Pick<PlaneOptions, 'root' | 'dir' | 'brokers' | 'prefix'> = {},
): Promise<PlaneLog> {
  const { dir, brokers, prefix } = planeSettings(options);
  const close = (): Promise<void> => Promise.resolve();
  if (brokers !== null) return { brokers: [...brokers], prefix, borrowed: false, close };
  const plane = runningPlane(dir);
  if (plane !== null) {
    return { brokers: [...plane.brokers], prefix: options.prefix ?? plane.prefix, borrowed: false, close };
  }
  if (!existsSync(join(dir, 'kafka', 'data', 'meta.properties'))) {
    throw new PlaneError('PLANE_NOT_RUNNING', `No plane runs or ever ran in ${dir}: start one with 'npm start'.`);
  }
  const kafka = new EmbeddedKafka({ dir });
  await kafka.start();
  return { brokers: kafka.brokers, prefix, borrowed: !kafka.attached, close: () => kafka.stop() };
}
