import { join } from 'node:path';
import { PlaneError } from '../errors/plane-errors.ts';
import { runningBroker } from '../kafka/broker-file.ts';
import { stopRunningBroker } from '../kafka/embedded-kafka.ts';
import { brokerAnswers } from '../kafka/broker-probe.ts';
import { prepareKafka } from '../kafka/kafka-process.ts';
import { Supervisor } from '../supervisor/supervisor.ts';
import { freePorts, isPortFree } from '../workspace/free-ports.ts';
import { until } from '../workspace/until.ts';
import { Plane } from './plane.ts';
import { planeSettings } from './plane-options.ts';
import type { PlaneOptions, PlaneSettings } from './plane-options.ts';
import { runningPlane } from './plane-state.ts';
import { fixedPorts, planePorts, takePorts } from './ports.ts';
import { planeSecrets } from './secrets.ts';
import { serviceProcess } from './service-process.ts';
import type { Replica } from './service-process.ts';
import { preparePlaneTopics } from './topics.ts';

/**
 * Starts the whole plane on this machine and returns when every service is ready. When anything cannot start, everything
 * that already runs is stopped again.
 *
 * Keep the returned handle and call `stop`; should this process die first, the plane ends with it.
 *
 * @throws PlaneError `PLANE_ALREADY_RUNNING`, `PLANE_PORT_TAKEN`, `PLANE_SERVICE_NOT_BUILT`, `PLANE_KAFKA_JARS_MISSING`,
 * `PLANE_UNREACHABLE_BROKER`, `PLANE_PROCESS_NOT_READY`
 */
export async function startPlane(options: PlaneOptions = {}): Promise<Plane> {
  const settings = planeSettings(options);
  const { dir } = settings;
  const other = runningPlane(dir);
  if (other !== null) {
    throw new PlaneError(
      'PLANE_ALREADY_RUNNING',
      `A plane already runs in ${dir} (process ${other.pid}, since ${other.startedAt}): stop it first, or use another folder.`,
    );
  }
  const replicas = await placeReplicas(settings);
  let plane: Plane | undefined;
  const supervisor = new Supervisor({
    onChange: () => {
      plane?.publishState();
      options.onChange?.();
    },
  });
  try {
    const brokers = await startLog(settings, supervisor, options.onProgress);
    options.onProgress?.('topics', 'starting');
    await preparePlaneTopics(brokers, settings);
    options.onProgress?.('topics', 'ready');

    const wiring = { settings, brokers, replicas, secrets: planeSecrets(dir) };
    plane = new Plane(wiring, supervisor);
    const specs = replicas.map((replica) => serviceProcess(wiring, replica));
    plane.publishState();
    const results = await Promise.allSettled(
      specs.map(async (spec) => {
        options.onProgress?.(spec.name, 'starting');
        await supervisor.start(spec);
        options.onProgress?.(spec.name, 'ready');
      }),
    );
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    return plane;
  } catch (error) {
    if (plane === undefined) await supervisor.stopAll();
    else await plane.stop();
    throw error;
  }
}

async function placeReplicas(settings: PlaneSettings): Promise<Replica[]> {
  const wanted = [...settings.replicas].flatMap(([service, count]) =>
    Array.from({ length: count }, (_, index) => ({
      service,
      index,
      name: index === 0 ? service : `${service}-${index + 1}`,
    })),
  );
  const free = settings.isolated ? await freePorts(2 * wanted.length) : [];
  const replicas = wanted.map(({ name, service, index }) => ({
    name,
    service,
    ports: settings.isolated ? takePorts(service, free) : fixedPorts(service, index),
  }));
  for (const { name, ports } of replicas) {
    for (const port of [ports.http, ports.metrics]) {
      if (port === null || (await isPortFree(port))) continue;
      throw new PlaneError(
        'PLANE_PORT_TAKEN',
        `${name} cannot listen on 127.0.0.1:${port}: another process does. End it and try again.`,
        true,
      );
    }
  }
  return replicas;
}

/** The brokers to use: yours, if they answer, else the embedded one, which becomes the supervisor's first process. */
async function startLog(
  settings: PlaneSettings,
  supervisor: Supervisor,
  onProgress: PlaneOptions['onProgress'],
): Promise<readonly string[]> {
  const { brokers, dir, isolated } = settings;
  onProgress?.('kafka', 'starting');
  if (brokers !== null) {
    if (!(await until(() => brokerAnswers(brokers), 15_000, 500))) {
      throw new PlaneError(
        'PLANE_UNREACHABLE_BROKER',
        `No Kafka broker answers at ${brokers.join(', ')}: check KAFKA_BROKERS, or unset it to use the embedded one.`,
        true,
      );
    }
    onProgress?.('kafka', 'ready');
    return brokers;
  }
  // Left by a command that only read, or by a plane whose supervisor was killed a moment ago: it is ours to replace.
  if (runningBroker(join(dir, 'kafka')) !== null) await stopRunningBroker(dir);
  const fixed = isolated ? {} : { port: planePorts.kafka, controllerPort: planePorts.kafkaController };
  const prepared = await prepareKafka({ dir, ...fixed });
  await supervisor.start(prepared.spec);
  onProgress?.('kafka', 'ready');
  return prepared.brokers;
}
