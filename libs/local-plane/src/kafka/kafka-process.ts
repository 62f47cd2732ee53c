import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PlaneError } from '../errors/plane-errors.ts';
import type { ProcessSpec } from '../supervisor/process-spec.ts';
import { freePorts, isPortFree } from '../workspace/free-ports.ts';
import { repositoryRoot } from '../workspace/repository-root.ts';
import { brokerPaths, readBrokerAddress, writeBrokerAddress } from './broker-file.ts';
import type { BrokerAddress } from './broker-file.ts';
import { brokerAnswers } from './broker-probe.ts';
import { kafkaJarsDir, requireKafkaJars } from './kafka-jars.ts';
import { serverProperties } from './server-properties.ts';
import { formatStorage } from './storage.ts';

/** How an embedded broker is set up. */
export interface EmbeddedKafkaOptions {
  /** Everything of the broker lies under `<dir>/kafka`. */
  readonly dir: string;
  /** Default: the port this folder used last, if free, else any free one. */
  readonly port?: number;
  readonly controllerPort?: number;
  /** Default `<dir>/logs/kafka.log`. */
  readonly logFile?: string;
  /** Folder of Kafka's jars; default the cache that setup fills. */
  readonly jarsDir?: string;
  /** Heap limit in MiB; default 384. */
  readonly heapMebibytes?: number;
}

/** A broker that is ready to be launched. */
export interface PreparedKafka {
  readonly address: BrokerAddress;
  /** `host:port`, as clients want it. */
  readonly brokers: string[];
  readonly spec: ProcessSpec;
}

const HOST = '127.0.0.1';
const WRITE_PID_AND_EXEC = 'echo $$ > "$0" && exec "$@"';

/**
 * Chooses ports, writes the configuration, formats the storage if it is new, and says how the broker is launched. Nothing
 * is started.
 *
 * @throws PlaneError `PLANE_KAFKA_JARS_MISSING`, `PLANE_PORT_TAKEN`, `PLANE_KAFKA_FORMAT_FAILED`
 */
export async function prepareKafka(options: EmbeddedKafkaOptions): Promise<PreparedKafka> {
  const jarsDir = options.jarsDir ?? kafkaJarsDir(repositoryRoot());
  requireKafkaJars(jarsDir);
  const kafkaDir = join(resolve(options.dir), 'kafka');
  mkdirSync(kafkaDir, { recursive: true });
  const paths = brokerPaths(kafkaDir);
  const address = await chooseAddress(options, readBrokerAddress(kafkaDir));
  writeBrokerAddress(kafkaDir, address);
  writeFileSync(paths.properties, serverProperties({ ...address, dataDir: paths.data }));
  const classPath = join(jarsDir, '*');
  await formatStorage(paths.data, paths.properties, classPath);

  const brokers = [`${address.host}:${address.port}`];
  return {
    address,
    brokers,
    spec: {
      name: 'kafka',
      command: '/bin/sh',
      args: [
        ...['-c', WRITE_PID_AND_EXEC, paths.pid, 'java', `-Xmx${options.heapMebibytes ?? 384}m`, '-Xms128m'],
        ...['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-XX:+ExitOnOutOfMemoryError', '-Djava.awt.headless=true'],
        ...['-Dorg.slf4j.simpleLogger.defaultLogLevel=warn', '-Dorg.slf4j.simpleLogger.showDateTime=true'],
        ...["-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSZ", '-cp', classPath],
        ...['kafka.Kafka', paths.properties],
      ],
      cwd: kafkaDir,
      env: process.env,
      logFile: options.logFile ?? join(resolve(options.dir), 'logs', 'kafka.log'),
      readiness: () => brokerAnswers(brokers),
      readyTimeoutMs: 90_000,
      stopGraceMs: 20_000,
    },
  };
}

async function chooseAddress(options: EmbeddedKafkaOptions, last: BrokerAddress | null): Promise<BrokerAddress> {
  const [spare = 0, spareForController = 0] = await freePorts(2);
  const reusable = async (port: number | undefined): Promise<number | undefined> =>
    port !== undefined && (await isPortFree(port)) ? port : undefined;
  const port = options.port ?? (await reusable(last?.port)) ?? spare;
  const controllerPort = options.controllerPort ?? (await reusable(last?.controllerPort)) ?? spareForController;
  for (const wanted of [port, controllerPort]) {
    if (await isPortFree(wanted)) continue;
    throw new PlaneError(
      'PLANE_PORT_TAKEN',
      `Kafka cannot listen on ${HOST}:${wanted}: another process does. End it, or choose another port.`,
      true,
    );
  }
  return { host: HOST, port, controllerPort };
}
