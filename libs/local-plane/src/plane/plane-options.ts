import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { repositoryRoot } from '../workspace/repository-root.ts';
import { serviceNames } from './ports.ts';
import type { ServiceName } from './ports.ts';

/** Partitions and replication of the topics: for one machine, or for a cluster of brokers. */
export type TopicProfileName = 'embedded' | 'production';

/** What a plane consists of and where it lies. Everything has a default. */
export interface PlaneOptions {
  /** The checkout that the services run from. */
  readonly root?: string;
  /** Holds data, logs, secrets and the state file; default `<root>/.espalier`, when isolated a folder for temporary files. */
  readonly dir?: string;
  /** A plane beside others: free ports instead of the documented ones, and a topic prefix of its own. For tests. */
  readonly isolated?: boolean;
  /** Topic prefix; default `ESPALIER_PREFIX`, else `espalier`, or a random one when isolated. */
  readonly prefix?: string;
  /** Brokers of yours; default `KAFKA_BROKERS` (comma separated), else an embedded one is started. */
  readonly brokers?: readonly string[];
  /** Default: all of them. */
  readonly services?: readonly ServiceName[];
  /** Processes per service, default 1. */
  readonly replicas?: Readonly<Partial<Record<ServiceName, number>>>;
  /** Added to the environment of every service. */
  readonly env?: Readonly<Record<string, string>>;
  /** Added to the environment of one service. */
  readonly serviceEnv?: Readonly<Partial<Record<ServiceName, Readonly<Record<string, string>>>>>;
  /** Default `ESPALIER_LOG_LEVEL`, else `info`. */
  readonly logLevel?: string;
  /** Sizes of the topics; default `ESPALIER_PROFILE`, else `embedded`. */
  readonly profile?: TopicProfileName;
  /** Told when a part begins to start and when it is ready. */
  readonly onProgress?: (part: string, phase: 'starting' | 'ready') => void;
  /** Told after every change of any process's state. */
  readonly onChange?: () => void;
}

/** {@link PlaneOptions} with every default filled in. */
export interface PlaneSettings {
  readonly root: string;
  readonly dir: string;
  readonly isolated: boolean;
  readonly prefix: string;
  readonly brokers: readonly string[] | null;
  /** Each service with its number of processes; services with none are left out. */
  readonly replicas: ReadonlyMap<ServiceName, number>;
  readonly env: Readonly<Record<string, string>>;
  readonly serviceEnv: Readonly<Partial<Record<ServiceName, Readonly<Record<string, string>>>>>;
  readonly logLevel: string;
  readonly profile: TopicProfileName;
}

/** Fills in the defaults; `environment` is `process.env` outside of tests. */
export function planeSettings(
  options: PlaneOptions,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): PlaneSettings {
  const root = resolve(options.root ?? repositoryRoot());
  const isolated = options.isolated ?? false;
  const given = (environment['KAFKA_BROKERS'] ?? '').split(',').map((broker) => broker.trim());
  const yours = options.brokers ?? given.filter((broker) => broker !== '');
  const counts = (options.services ?? serviceNames).map((name) => [name, options.replicas?.[name] ?? 1] as const);
  const prefix =
    options.prefix ??
    (isolated ? `espalier-${randomBytes(4).toString('hex')}` : (environment['ESPALIER_PREFIX'] ?? 'espalier'));
  return {
    root,
    dir: resolve(options.dir ?? (isolated ? join(tmpdir(), prefix) : planeDir(root))),
    isolated,
    prefix,
    brokers: yours.length > 0 ? yours : null,
    replicas: new Map(counts.filter(([, count]) => count > 0)),
    env: options.env ?? {},
    serviceEnv: options.serviceEnv ?? {},
    logLevel: options.logLevel ?? environment['ESPALIER_LOG_LEVEL'] ?? 'info',
    profile: options.profile ?? (environment['ESPALIER_PROFILE'] === 'production' ? 'production' : 'embedded'),
  };
}

/** The folder of the one-machine plane of a checkout. */
export function planeDir(root: string = repositoryRoot()): string {
  return join(root, '.espalier');
}
