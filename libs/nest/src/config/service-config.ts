import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { KafkaConnection } from '@espalier/kafka';
import { portsOf } from './ports.ts';

const port = z.coerce.number().int().min(0).max(65_535);
const flag = z.enum(['true', 'false', '1', '0']).transform((value) => value === 'true' || value === '1');

/** Settings that every service has, by their environment names. */
export const serviceSettings = z.object({
  ESPALIER_KAFKA_BROKERS: z
    .string()
    .default('127.0.0.1:29092')
    .transform((list) => list.split(',').map((broker) => broker.trim()))
    .refine(
      (brokers) => brokers.every((broker) => /^[^\s:]+:\d+$/.test(broker)),
      'a comma-separated list of host:port',
    ),
  ESPALIER_KAFKA_SSL: flag.default(false),
  ESPALIER_KAFKA_SASL: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']).optional(),
  ESPALIER_KAFKA_USERNAME: z.string().optional(),
  ESPALIER_KAFKA_PASSWORD: z.string().optional(),
  ESPALIER_PREFIX: z
    .string()
    .regex(/^[a-zA-Z0-9][a-zA-Z0-9_-]*$/, 'letters, digits, "-" and "_"')
    .default('espalier'),
  ESPALIER_PROFILE: z.enum(['embedded', 'production']).default('embedded'),
  ESPALIER_OBJECTS: z.string().optional(),
  /** Address to listen on; loopback unless told otherwise. */
  ESPALIER_BIND: z.string().default('127.0.0.1'),
  ESPALIER_HTTP_PORT: port.optional(),
  ESPALIER_METRICS_PORT: port.optional(),
  ESPALIER_INSTANCE: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,200}$/, 'letters, digits, ".", "_" and "-"')
    .optional(),
  ESPALIER_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  /** How long held work may go on after SIGTERM, milliseconds. */
  ESPALIER_DRAIN_MS: z.coerce.number().int().min(0).default(20_000),
});

/** Settings that every service has. */
export interface ServiceConfig {
  /** Service name, e.g. `rollout-runner`. */
  readonly name: string;
  /** Instance name; unique among live instances. */
  readonly instance: string;
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly profile: 'embedded' | 'production';
  readonly ssl: boolean;
  readonly sasl: KafkaConnection['sasl'];
  /** URL of the object store. */
  readonly objects: string;
  readonly bind: string;
  /** 0 takes any free port. */
  readonly httpPort: number;
  readonly metricsPort: number;
  readonly logLevel: z.output<typeof serviceSettings>['ESPALIER_LOG_LEVEL'];
  readonly drainMs: number;
}

/** The service's settings out of the parsed environment. */
export function serviceConfigOf(name: string, settings: z.output<typeof serviceSettings>): ServiceConfig {
  const ports = portsOf(name);
  const mechanism = settings.ESPALIER_KAFKA_SASL;
  return Object.freeze({
    name,
    instance: settings.ESPALIER_INSTANCE ?? `${name}-${hostname().slice(0, 40)}-${process.pid}`,
    brokers: settings.ESPALIER_KAFKA_BROKERS,
    prefix: settings.ESPALIER_PREFIX,
    profile: settings.ESPALIER_PROFILE,
    ssl: settings.ESPALIER_KAFKA_SSL,
    sasl:
      mechanism === undefined
        ? undefined
        : {
            mechanism,
            username: settings.ESPALIER_KAFKA_USERNAME ?? '',
            password: settings.ESPALIER_KAFKA_PASSWORD ?? '',
          },
    objects: settings.ESPALIER_OBJECTS ?? pathToFileURL(resolve('.espalier/objects')).href,
    bind: settings.ESPALIER_BIND,
    httpPort: settings.ESPALIER_HTTP_PORT ?? ports.http,
    metricsPort: settings.ESPALIER_METRICS_PORT ?? ports.metrics,
    logLevel: settings.ESPALIER_LOG_LEVEL,
    drainMs: settings.ESPALIER_DRAIN_MS,
  });
}
