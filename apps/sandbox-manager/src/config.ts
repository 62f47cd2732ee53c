import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';

const flag = z
  .enum(['true', 'false', '1', '0', 'yes', 'no'])
  .transform((text) => text === 'true' || text === '1' || text === 'yes');
const port = z.coerce.number().int().min(0).max(65_535);
const list = z.string().transform((text) => text.split(/[\s,]+/).filter((part) => part !== ''));
/** Seconds on the outside, milliseconds inside. */
const seconds = z.coerce
  .number()
  .nonnegative()
  .transform((value) => value * 1000);

/** Every setting of the service. Orchard's own names are kept where its operators know them. */
const environment = z.object({
  ESPALIER_HTTP_HOST: z.string().optional(),
  HOST: z.string().optional(),
  ESPALIER_HTTP_PORT: port.default(4100),
  ESPALIER_METRICS_PORT: port.default(4200),
  ESPALIER_METRICS_HOST: z.string().default('127.0.0.1'),
  ESPALIER_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  ESPALIER_INSTANCE: z.string().default(`sandbox-manager-${hostname()}-${process.pid}`),
  ESPALIER_PLANE_DIR: z.string().default('.espalier'),
  ESPALIER_STATE_DIR: z.string().optional(),
  ESPALIER_OBJECTS: z.string().optional(),
  ESPALIER_PAYLOADS_DIR: z.string().optional(),
  ESPALIER_AGENT_BINARY: z.string().optional(),
  ESPALIER_KAFKA_BROKERS: z.string().default('127.0.0.1:29092'),
  ESPALIER_PREFIX: z.string().default('espalier'),
  ESPALIER_PROFILE: z.enum(['embedded', 'production']).default('embedded'),
  ESPALIER_SANDBOX_API_KEY: z.string().optional(),
  API_KEYS: z.string().default(''),
  REQUIRE_API_KEY: flag.default(true),
  ESPALIER_SANDBOX_DRIVER: z.enum(['local']).default('local'),
  /** What a sandbox with `block_network: false` gets on one machine: nothing, or the machine's own network. */
  ESPALIER_SANDBOX_OPEN_NETWORK: z.enum(['none', 'host']).default('none'),
  /** Network of image builds. */
  ESPALIER_SANDBOX_BUILD_NETWORK: z.enum(['none', 'host']).default('none'),
  ESPALIER_SANDBOX_BUILD_TIMEOUT_SECONDS: seconds.default(600_000),
  ESPALIER_SANDBOX_DISK_BYTES: z.coerce
    .number()
    .int()
    .positive()
    .default(4 * 1024 ** 3),
  ESPALIER_SANDBOX_PIDS: z.coerce.number().int().positive().default(2048),
  ESPALIER_SANDBOX_OPEN_FILES: z.coerce.number().int().positive().default(65_536),
  ESPALIER_SANDBOX_MASKS: list.default([]),
  ESPALIER_SANDBOX_EXPOSE: list.default([]),
  /** Guarantees without which no sandbox is made, e.g. `root cgroup`. */
  ESPALIER_SANDBOX_REQUIRE: list.default([]),
  DEFAULT_CPU: z.string().default('4'),
  DEFAULT_MEMORY: z.string().default('16Gi'),
  DEFAULT_WORKING_DIR: z.string().default('/workspace'),
  DEFAULT_TIMEOUT_SECONDS: z.coerce.number().int().positive().default(300),
  MAX_CONCURRENT_CREATES: z.coerce.number().int().positive().default(16),
  SANDBOX_TTL_HOURS: z.coerce.number().positive().default(2),
  ORPHAN_JOB_TTL_HOURS: z.coerce.number().positive().default(1),
  HEARTBEAT_TIMEOUT_SECONDS: seconds.default(180_000),
  HEARTBEAT_CLEANUP_ENABLED: flag.default(true),
  ESPALIER_SANDBOX_SWEEP_SECONDS: seconds.default(5_000),
  SANDBOX_NAMESPACE: z.string().default('sandbox-pods'),
});

export interface ManagerConfig {
  readonly host: string;
  readonly port: number;
  readonly metricsHost: string;
  readonly metricsPort: number;
  readonly logLevel: string;
  readonly instance: string;
  readonly stateDir: string;
  readonly planeDir: string;
  readonly objectsUrl: string;
  readonly payloadsDir: string;
  readonly agentBinary: string;
  /** Null: run without Kafka. */
  readonly kafka: {
    readonly brokers: string[];
    readonly prefix: string;
    readonly profile: 'embedded' | 'production';
  } | null;
  readonly apiKeys: ReadonlySet<string>;
  readonly requireApiKey: boolean;
  readonly openNetwork: 'none' | 'host';
  readonly buildNetwork: 'none' | 'host';
  readonly buildTimeoutMs: number;
  readonly diskBytes: number;
  readonly pids: number;
  readonly openFiles: number;
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

/** Thrown at boot; names every bad key. */
export class ConfigError extends Error {
  readonly code = 'CONFIG_INVALID';
  readonly retryable = false;
}

/** Reads the environment once. Throws {@link ConfigError}. */
export function loadConfig(variables: NodeJS.ProcessEnv): ManagerConfig {
  const parsed = environment.safeParse(variables);
  if (!parsed.success)
    throw new ConfigError(
      `sandbox-manager configuration:\n${parsed.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`).join('\n')}`,
    );
  const values = parsed.data;
  const planeDir = resolve(values.ESPALIER_PLANE_DIR);
  const keys = `${values.ESPALIER_SANDBOX_API_KEY ?? ''} ${values.API_KEYS}`
    .split(/[\s,]+/)
    .filter((key) => key !== '');
  return {
    host: values.ESPALIER_HTTP_HOST ?? values.HOST ?? '127.0.0.1',
    port: values.ESPALIER_HTTP_PORT,
    metricsHost: values.ESPALIER_METRICS_HOST,
    metricsPort: values.ESPALIER_METRICS_PORT,
    logLevel: values.ESPALIER_LOG_LEVEL,
    instance: values.ESPALIER_INSTANCE,
    planeDir,
    stateDir: resolve(values.ESPALIER_STATE_DIR ?? join(planeDir, 'state', 'sandbox-manager')),
    objectsUrl: values.ESPALIER_OBJECTS ?? `file://${join(planeDir, 'objects')}`,
    payloadsDir: resolve(values.ESPALIER_PAYLOADS_DIR ?? join(planeDir, 'payloads')),
    agentBinary: resolve(values.ESPALIER_AGENT_BINARY ?? join(planeDir, 'bin', 'sandbox-agent')),
    kafka:
      values.ESPALIER_KAFKA_BROKERS === 'none'
        ? null
        : {
            brokers: values.ESPALIER_KAFKA_BROKERS.split(',').map((broker) => broker.trim()),
            prefix: values.ESPALIER_PREFIX,
            profile: values.ESPALIER_PROFILE,
          },
    apiKeys: new Set(keys),
    requireApiKey: values.REQUIRE_API_KEY,
    openNetwork: values.ESPALIER_SANDBOX_OPEN_NETWORK,
    buildNetwork: values.ESPALIER_SANDBOX_BUILD_NETWORK,
    buildTimeoutMs: values.ESPALIER_SANDBOX_BUILD_TIMEOUT_SECONDS,
    diskBytes: values.ESPALIER_SANDBOX_DISK_BYTES,
    pids: values.ESPALIER_SANDBOX_PIDS,
    openFiles: values.ESPALIER_SANDBOX_OPEN_FILES,
    masks: values.ESPALIER_SANDBOX_MASKS,
    exposed: values.ESPALIER_SANDBOX_EXPOSE,
    require: values.ESPALIER_SANDBOX_REQUIRE,
    defaultCpu: values.DEFAULT_CPU,
    defaultMemory: values.DEFAULT_MEMORY,
    defaultWorkdir: values.DEFAULT_WORKING_DIR,
    defaultExecSeconds: values.DEFAULT_TIMEOUT_SECONDS,
    maxConcurrentCreates: values.MAX_CONCURRENT_CREATES,
    idleTtlMs: values.SANDBOX_TTL_HOURS * 3_600_000,
    jobTtlMs: values.ORPHAN_JOB_TTL_HOURS * 3_600_000,
    heartbeatTimeoutMs: values.HEARTBEAT_TIMEOUT_SECONDS,
    heartbeatCleanup: values.HEARTBEAT_CLEANUP_ENABLED,
    sweepMs: values.ESPALIER_SANDBOX_SWEEP_SECONDS,
    namespace: values.SANDBOX_NAMESPACE,
  };
}
