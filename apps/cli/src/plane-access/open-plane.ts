import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { openKafka, type KafkaPort } from '@espalier/kafka';
import { EmbeddedKafka, runningBroker, runningPlane } from '@espalier/local-plane';
import { openObjectStore, type ObjectStore } from '@espalier/objects';
import type { CliConfig } from '../config.ts';
import { CliError, EXIT } from '../errors.ts';

/** An open way to a deployment's log and objects. */
export interface PlaneAccess {
  readonly kafka: KafkaPort;
  readonly objects: ObjectStore;
  readonly prefix: string;
  readonly brokers: readonly string[];
  /** True when a plane on this machine, or brokers named by the user, run on their own. */
  readonly running: boolean;
  close(): Promise<void>;
}

/** Which brokers there are. */
interface Found {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly objects: string;
}

/** The deployment that runs: named by flag or environment, else the plane of this machine; null when there is none. */
export function findRunning(config: CliConfig): Found | null {
  const plane = runningPlane(config.dir);
  const prefix = config.prefix ?? plane?.prefix ?? 'espalier';
  const objects = plane?.clientEnvironment['ESPALIER_OBJECTS'] ?? config.objects;
  if (config.brokers !== null) return { brokers: config.brokers, prefix, objects: config.objects };
  if (plane !== null) return { brokers: plane.brokers, prefix, objects };
  const broker = runningBroker(join(config.dir, 'kafka'));
  return broker === null ? null : { brokers: [`${broker.host}:${broker.port}`], prefix, objects };
}

/**
 * Opens the deployment. With `read`, the embedded broker is started for as long as the command runs when nothing runs.
 * Throws `CLI_PLANE_DOWN` when there is nothing to read, or nothing that would act on what is written.
 */
export async function openPlane(config: CliConfig, mode: 'read' | 'write'): Promise<PlaneAccess> {
  const found = findRunning(config);
  if (found !== null) return access(config, found, true, () => Promise.resolve());
  if (mode === 'write')
    throw new CliError(
      'CLI_PLANE_DOWN',
      `no plane runs in ${config.dir}: start one with "espalier up", or name brokers with --brokers`,
      EXIT.unavailable,
    );
  if (!existsSync(join(config.dir, 'kafka', 'data')))
    throw new CliError(
      'CLI_PLANE_DOWN',
      `there is nothing to read in ${config.dir}: no plane has run there yet ("espalier up --demo" starts one)`,
      EXIT.unavailable,
    );
  const embedded = new EmbeddedKafka({ dir: config.dir });
  await embedded.start();
  const prefix = config.prefix ?? 'espalier';
  return access(config, { brokers: embedded.brokers, prefix, objects: config.objects }, false, () => embedded.stop());
}

async function access(
  config: CliConfig,
  { brokers, prefix, objects }: Found,
  running: boolean,
  release: () => Promise<void>,
): Promise<PlaneAccess> {
  const clientId = `cli-${hostname()}-${process.pid}`;
  const kafka = openKafka({ brokers: [...brokers], clientId, prefix, profile: config.profile });
  const close = async (): Promise<void> => {
    await kafka.close();
    await release();
  };
  try {
    await kafka.admin.endOffsets('run.reported');
  } catch (error) {
    await close();
    throw new CliError(
      'CLI_PLANE_DOWN',
      `the log at ${brokers.join(', ')} (prefix ${prefix}) cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      EXIT.unavailable,
    );
  }
  return { kafka, objects: openObjectStore(objects), prefix, brokers, running, close };
}

/** Runs `work` with an open plane and closes it, whatever happens. */
export async function withPlane<R>(
  config: CliConfig,
  mode: 'read' | 'write',
  work: (plane: PlaneAccess) => Promise<R>,
): Promise<R> {
  const plane = await openPlane(config, mode);
  try {
    return await work(plane);
  } finally {
    await plane.close();
  }
}
