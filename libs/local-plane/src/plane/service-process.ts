import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PlaneError } from '../errors/plane-errors.ts';
import { httpProbe } from '../supervisor/http-probe.ts';
import type { ProcessSpec } from '../supervisor/process-spec.ts';
import { nodeBinary } from '../workspace/node-binary.ts';
import type { PlaneSettings } from './plane-options.ts';
import type { ServiceName, ServicePorts } from './ports.ts';
import type { PlaneSecrets } from './secrets.ts';

/** One process of a service. */
export interface Replica {
  /** `rollout-runner` for the first, `rollout-runner-2` for the second. */
  readonly name: string;
  readonly service: ServiceName;
  readonly ports: ServicePorts;
}

/** What all services of one plane share. */
export interface PlaneWiring {
  readonly settings: PlaneSettings;
  readonly brokers: readonly string[];
  readonly secrets: PlaneSecrets;
  readonly replicas: readonly Replica[];
}

/** How long work in hand may go on when a service is told to stop: on one machine somebody waits for it. */
const DRAIN_MS = 5_000;

/** Longer than that: what was drained is reported and connections are closed. */
const STOP_GRACE_MS = 15_000;

/** How one replica is started. @throws PlaneError `PLANE_SERVICE_NOT_BUILT` */
export function serviceProcess(wiring: PlaneWiring, replica: Replica): ProcessSpec {
  const { root, dir } = wiring.settings;
  const main = join(root, 'apps', replica.service, 'dist', 'main.js');
  if (!existsSync(main)) {
    throw new PlaneError(
      'PLANE_SERVICE_NOT_BUILT',
      `${replica.service} is not built (${main} is missing): run 'npm run build' in ${root}.`,
    );
  }
  const health = `http://127.0.0.1:${replica.ports.metrics}/health`;
  return {
    name: replica.name,
    command: nodeBinary(root),
    // kafkajs computes a negative timeout when nothing is pending; Node 24 warns about it, once a process.
    args: ['--enable-source-maps', '--disable-warning=TimeoutNegativeWarning', main],
    cwd: root,
    env: { ...process.env, ...serviceEnvironment(wiring, replica) },
    logFile: join(dir, 'logs', `${replica.name}.log`),
    readiness: httpProbe(`${health}/ready`),
    liveness: httpProbe(`${health}/live`, 5_000),
    readyTimeoutMs: 120_000,
    stopGraceMs: STOP_GRACE_MS,
  };
}

/** What one process keeps over its restarts. */
export function stateDirOf(dir: string, name: string): string {
  return join(dir, 'state', name);
}

/** The variables that make a service part of this plane. */
export function serviceEnvironment(wiring: PlaneWiring, replica: Replica): Record<string, string> {
  const { settings, brokers, secrets } = wiring;
  const stateDir = stateDirOf(settings.dir, replica.name);
  mkdirSync(stateDir, { recursive: true });
  return {
    ...clientEnvironment(wiring),
    ESPALIER_KAFKA_BROKERS: brokers.join(','),
    ESPALIER_PROFILE: settings.profile,
    ESPALIER_METRICS_PORT: String(replica.ports.metrics),
    ...(replica.ports.http === null ? {} : { ESPALIER_HTTP_PORT: String(replica.ports.http) }),
    ESPALIER_INSTANCE: replica.name,
    ESPALIER_LOG_LEVEL: settings.logLevel,
    ESPALIER_DRAIN_MS: String(DRAIN_MS),
    ESPALIER_PLANE_DIR: settings.dir,
    ESPALIER_STATE_DIR: stateDir,
    ESPALIER_PAYLOADS_DIR: join(settings.root, '.espalier', 'payloads'),
    ESPALIER_AGENT_BINARY: join(settings.root, '.espalier', 'bin', 'sandbox-agent'),
    ESPALIER_CAPABILITY_KEY: secrets.capabilityKey,
    ...settings.env,
    ...settings.serviceEnv[replica.service],
  };
}

/** What a client of the plane (the CLI, a test, a learner of yours) needs to reach it. */
export function clientEnvironment({ settings, brokers, secrets, replicas }: PlaneWiring): Record<string, string> {
  const variables: Record<string, string> = {
    ESPALIER_KAFKA_BROKERS: brokers.join(','),
    ESPALIER_PREFIX: settings.prefix,
    ESPALIER_OBJECTS: pathToFileURL(join(settings.dir, 'objects')).href,
    ESPALIER_SANDBOX_API_KEY: secrets.sandboxApiKey,
  };
  for (const [service, variable] of urlVariables) {
    const port = replicas.find((replica) => replica.service === service)?.ports.http;
    if (port !== undefined && port !== null) variables[variable] = `http://127.0.0.1:${port}`;
  }
  return variables;
}

const urlVariables = [
  ['sandbox-manager', 'ESPALIER_SANDBOX_URL'],
  ['trainer-gateway', 'ESPALIER_GATEWAY_URL'],
  ['value-reranker', 'ESPALIER_RERANKER_URL'],
  ['reference-learner', 'ESPALIER_POLICY_URL'],
] as const satisfies readonly (readonly [ServiceName, string])[];
