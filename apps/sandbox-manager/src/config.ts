import { ConfigError, loadConfig as parse, serviceConfigOf, serviceSettings, type ServiceConfig } from '@espalier/nest';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';

const flag = z
  .enum(['true', 'false', '1', '0', 'yes', 'no'])
  .transform((text) => text === 'true' || text === '1' || text === 'yes');
const list = z.string().transform((text) => text.split(/[\s,]+/).filter((part) => part !== ''));
/** Seconds on the outside, milliseconds inside. */
const seconds = z.coerce
  .number()
  .nonnegative()
  .transform((value) => value * 1000);
const positive = z.coerce.number().int().positive();

/** The service's own settings. Orchard's names are kept where its operators know them. */
const ownSettings = z.object({
  HOST: z.string().optional(),
  PORT: z.coerce.number().int().min(0).max(65_535).optional(),
  ESPALIER_PLANE_DIR: z.string().default('.espalier'),
  ESPALIER_STATE_DIR: z.string().optional(),
  ESPALIER_PAYLOADS_DIR: z.string().optional(),
  ESPALIER_AGENT_BINARY: z.string().optional(),
  ESPALIER_SANDBOX_API_KEY: z.string().default(''),
  API_KEYS: z.string().default(''),
  REQUIRE_API_KEY: flag.default(true),
  ESPALIER_SANDBOX_DRIVER: z.enum(['local']).default('local'),
  /** What a sandbox with `block_network: false` gets on one machine: nothing, or the machine's own network. */
  ESPALIER_SANDBOX_OPEN_NETWORK: z.enum(['none', 'host']).default('none'),
  /** Network of image builds. */
  ESPALIER_SANDBOX_BUILD_NETWORK: z.enum(['none', 'host']).default('none'),
  ESPALIER_SANDBOX_BUILD_TIMEOUT_SECONDS: seconds.default(600_000),
  ESPALIER_SANDBOX_DISK_BYTES: positive.default(4 * 1024 ** 3),
  ESPALIER_SANDBOX_PIDS: positive.default(2048),
  ESPALIER_SANDBOX_OPEN_FILES: positive.default(65_536),
  ESPALIER_SANDBOX_MASKS: list.default([]),
  ESPALIER_SANDBOX_EXPOSE: list.default([]),
  /** Guarantees without which no sandbox is made: `root`, `cgroup`. */
  ESPALIER_SANDBOX_REQUIRE: list.default([]),
  ESPALIER_SANDBOX_SWEEP_SECONDS: seconds.default(5_000),
  DEFAULT_CPU: z.string().default('4'),
  DEFAULT_MEMORY: z.string().default('16Gi'),
  DEFAULT_WORKING_DIR: z.string().startsWith('/').default('/workspace'),
  DEFAULT_TIMEOUT_SECONDS: positive.default(300),
  MAX_CONCURRENT_CREATES: positive.default(16),
  SANDBOX_TTL_HOURS: z.coerce.number().positive().default(2),
  ORPHAN_JOB_TTL_HOURS: z.coerce.number().positive().default(1),
  HEARTBEAT_TIMEOUT_SECONDS: seconds.default(180_000),
  HEARTBEAT_CLEANUP_ENABLED: flag.default(true),
  SANDBOX_NAMESPACE: z.string().default('sandbox-pods'),
});

/** Everything that the service is told. */
export interface ManagerConfig {
  readonly service: ServiceConfig;
  /** False: run without Kafka, and report to nobody. */
  readonly kafka: boolean;
  readonly host: string;
  readonly port: number;
  readonly stateDir: string;
  readonly planeDir: string;
  readonly payloadsDir: string;
  readonly agentBinary: string;
  readonly apiKeys: ReadonlySet<string>;
  readonly requireApiKey: boolean;
  readonly openNetwork: 'none' | 'host';
  readonly buildNetwork: 'none' | 'host';
  readonly buildTimeoutMs: number;
  readonly diskBytes: number;
  readonly pids: number;
  readonly openFiles: number;
  /** Host paths that no sandbox sees, besides the built-in ones. */
  readonly masks: readonly string[];
  readonly exposed: readonly string[];
  readonly require: readonly string[];
  readonly defaultCpu: string;
  readonly defaultMemory: string;
  readonly defaultWorkdir: string;
  readonly defaultExecSeconds: number;
  readonly maxConcurrentCreates: number;
  readonly idleTtlMs: number;
  readonly jobTtlMs: number;
  readonly heartbeatTimeoutMs: number;
  readonly heartbeatCleanup: boolean;
  readonly sweepMs: number;
  readonly namespace: string;
}

/** Reads the environment once. Throws `ConfigError`, naming every bad key. */
export function loadConfig(variables: NodeJS.ProcessEnv): ManagerConfig {
  const kafka = variables['ESPALIER_KAFKA_BROKERS'] !== 'none';
  const { ESPALIER_KAFKA_BROKERS: _none, ...withoutBrokers } = variables;
  const problems: string[] = [];
  const read = <S extends z.ZodType>(schema: S): z.output<S> | undefined => {
    try {
      return parse(schema, kafka ? variables : withoutBrokers) as z.output<S>;
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
      return undefined;
    }
  };
  const shared = read(serviceSettings);
  const own = read(ownSettings);
  if (shared === undefined || own === undefined) throw new ConfigError(problems);
  const planeDir = resolve(own.ESPALIER_PLANE_DIR);
  const objects = shared.ESPALIER_OBJECTS ?? pathToFileURL(join(planeDir, 'objects')).href;
  const service = serviceConfigOf('sandbox-manager', { ...shared, ESPALIER_OBJECTS: objects });
  const keys = `${own.ESPALIER_SANDBOX_API_KEY} ${own.API_KEYS}`.split(/[\s,]+/).filter((key) => key !== '');
  return {
    service,
    kafka,
    host: variables['ESPALIER_BIND'] ?? own.HOST ?? service.bind,
    port: shared.ESPALIER_HTTP_PORT ?? own.PORT ?? service.httpPort,
    planeDir,
    stateDir: resolve(own.ESPALIER_STATE_DIR ?? join(planeDir, 'state', 'sandbox-manager')),
    payloadsDir: resolve(own.ESPALIER_PAYLOADS_DIR ?? join(planeDir, 'payloads')),
    agentBinary: resolve(own.ESPALIER_AGENT_BINARY ?? join(planeDir, 'bin', 'sandbox-agent')),
    apiKeys: new Set(keys),
    requireApiKey: own.REQUIRE_API_KEY,
    openNetwork: own.ESPALIER_SANDBOX_OPEN_NETWORK,
    buildNetwork: own.ESPALIER_SANDBOX_BUILD_NETWORK,
    buildTimeoutMs: own.ESPALIER_SANDBOX_BUILD_TIMEOUT_SECONDS,
    diskBytes: own.ESPALIER_SANDBOX_DISK_BYTES,
    pids: own.ESPALIER_SANDBOX_PIDS,
    openFiles: own.ESPALIER_SANDBOX_OPEN_FILES,
    // The working directory is where the service is installed: its code and its plane are no sandbox's business.
    masks: [...own.ESPALIER_SANDBOX_MASKS, process.cwd()].filter((path) => path !== '/'),
    exposed: own.ESPALIER_SANDBOX_EXPOSE,
    require: own.ESPALIER_SANDBOX_REQUIRE,
    defaultCpu: own.DEFAULT_CPU,
    defaultMemory: own.DEFAULT_MEMORY,
    defaultWorkdir: own.DEFAULT_WORKING_DIR,
    defaultExecSeconds: own.DEFAULT_TIMEOUT_SECONDS,
    maxConcurrentCreates: own.MAX_CONCURRENT_CREATES,
    idleTtlMs: own.SANDBOX_TTL_HOURS * 3_600_000,
    jobTtlMs: own.ORPHAN_JOB_TTL_HOURS * 3_600_000,
    heartbeatTimeoutMs: own.HEARTBEAT_TIMEOUT_SECONDS,
    heartbeatCleanup: own.HEARTBEAT_CLEANUP_ENABLED,
    sweepMs: own.ESPALIER_SANDBOX_SWEEP_SECONDS,
    namespace: own.SANDBOX_NAMESPACE,
  };
}
