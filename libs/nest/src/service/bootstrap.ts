import 'reflect-metadata';
import { Module, type DynamicModule, type Type } from '@nestjs/common';
import { ModulesContainer, NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Logger as PinoNestLogger, LoggerModule } from 'nestjs-pino';
import { z } from 'zod';
import { openKafka, type KafkaPort } from '@espalier/kafka';
import { openObjectStore } from '@espalier/objects';
import { ConfigError, loadConfig, type Settings } from '../config/load-config.ts';
import { serviceConfigOf, serviceSettings, type ServiceConfig } from '../config/service-config.ts';
import { EventLoopWatch } from '../health/event-loop.ts';
import { MonitorModule } from '../health/monitor.module.ts';
import { passErrorsOfHandlers } from '../kafka/pass-errors.ts';
import { EspalierKafkaStrategy } from '../kafka/strategy.ts';
import { Lifecycle } from '../lifecycle/lifecycle.ts';
import { createLogger } from '../logging/logger.ts';
import { Metrics } from '../metrics/metrics.ts';
import { CoreModule, type ServiceContext } from './core.module.ts';

/** A service to run. */
export interface ServiceOptions<S extends z.ZodObject> {
  /** Service name; also decides its default ports. */
  readonly name: string;
  /** The application module, or what makes it out of the context. */
  readonly module:
    Type<unknown> | DynamicModule | ((context: ServiceContext<z.output<S>>) => Type<unknown> | DynamicModule);
  /** The service's own settings, by environment names. */
  readonly config?: S;
  /** Whether it serves HTTP; default false. */
  readonly http?: boolean;
  /** Largest request body, bytes; default 64 MiB. */
  readonly bodyLimit?: number;
  /** Default `process.env`. */
  readonly env?: Settings;
  /** Called before the application is initialised: raw body parsers, hooks. */
  readonly configure?: (app: NestFastifyApplication, context: ServiceContext<z.output<S>>) => void | Promise<void>;
  /** Create missing topics at the start, and refuse to boot on others than the catalogue's; default true. */
  readonly ensureTopics?: boolean;
  /** End the process on SIGTERM and SIGINT, and on faults nothing catches; default true. Specs say false. */
  readonly ownsProcess?: boolean;
}

/** A service that runs. */
export interface RunningService<C = unknown> {
  readonly app: NestFastifyApplication;
  readonly context: ServiceContext<C>;
  /** Base URL of its HTTP port; null without one. */
  readonly url: string | null;
  /** Base URL of its metrics port. */
  readonly metricsUrl: string;
  /** Readiness off, drain, stop consuming, flush the producer, disconnect, close HTTP. */
  stop(): Promise<void>;
}

const BODY_LIMIT = 64 * 1024 * 1024;
/** After this much more than the drain time the process ends, whatever hangs. */
const HARD_STOP_MS = 45_000;

@Module({})
class RootModule {}

/**
 * Runs a service: settings, logger, metrics and probes, Kafka, objects, the application, and an ordered end. When it cannot
 * start, it says why and exits with code 1 (or throws, with `ownsProcess: false`).
 */
export async function bootstrapService<S extends z.ZodObject = z.ZodObject<Record<never, never>>>(
  options: ServiceOptions<S>,
): Promise<RunningService<z.output<S>>> {
  const ownsProcess = options.ownsProcess ?? true;
  try {
    return await start(options, ownsProcess);
  } catch (error) {
    if (!ownsProcess) throw error;
    const line = error instanceof ConfigError ? error.problems.join('\n  ') : error;
    console.error(`${options.name} did not start:`, line);
    process.exit(1);
  }
}

async function start<S extends z.ZodObject>(
  options: ServiceOptions<S>,
  ownsProcess: boolean,
): Promise<RunningService<z.output<S>>> {
  const env = options.env ?? process.env;
  const { service, config } = readSettings(options, env);
  const logger = createLogger(service);
  const metrics = new Metrics(service.name);
  const lifecycle = new Lifecycle(logger);
  const loop = new EventLoopWatch();
  const kafka = openKafka({
    brokers: [...service.brokers],
    clientId: service.instance,
    prefix: service.prefix,
    profile: service.profile,
    ...(service.ssl ? { ssl: true } : {}),
    ...(service.sasl === undefined ? {} : { sasl: service.sasl }),
    logger,
    observer: metrics.kafkaObserver(),
  });
  const context: ServiceContext<z.output<S>> = {
    service,
    config,
    kafka,
    objects: openObjectStore(service.objects),
    logger,
    metrics,
    lifecycle,
  };

  const monitor = await startMonitor(context, loop);
  const closeAll = async (app?: NestFastifyApplication): Promise<void> => {
    await lifecycle.stop(service.drainMs);
    await kafka.close();
    await app?.close();
    await monitor.close();
    loop.stop();
  };
  try {
    // Topics first: whatever a module does when it is initialised may already use them.
    await whenReachable(kafka, options.ensureTopics ?? true, logger);
    const app = await createApp(options, context);
    const url = options.http === true ? await listen(app, service) : null;
    await lifecycle.start();
    const metricsUrl = await monitor.getUrl();
    logger.info({ url, metricsUrl, prefix: service.prefix }, 'ready');
    let stopping: Promise<void> | undefined;
    const stop = (): Promise<void> => (stopping ??= closeAll(app));
    if (ownsProcess) ownProcess(context, stop);
    return { app, context, url, metricsUrl, stop };
  } catch (error) {
    logger.error({ err: error }, 'start failed');
    await closeAll();
    throw error;
  }
}

/** Reads the settings of every service and of this one together, so that one error names every bad key. */
function readSettings<S extends z.ZodObject>(
  options: ServiceOptions<S>,
  env: Settings,
): { service: ServiceConfig; config: Readonly<z.output<S>> } {
  const problems: string[] = [];
  const read = <T extends z.ZodType>(schema: T): Readonly<z.output<T>> | undefined => {
    try {
      return loadConfig(schema, env);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
      return undefined;
    }
  };
  const settings = read(serviceSettings);
  const config = read(options.config ?? z.object({}));
  if (settings === undefined || config === undefined) throw new ConfigError(problems);
  return { service: serviceConfigOf(options.name, settings), config: config as unknown as Readonly<z.output<S>> };
}

async function startMonitor(context: ServiceContext, loop: EventLoopWatch): Promise<NestFastifyApplication> {
  const monitor = await NestFactory.create<NestFastifyApplication>(
    MonitorModule.of(context.lifecycle, context.metrics, loop),
    new FastifyAdapter(),
    { logger: false },
  );
  await monitor.listen(context.service.metricsPort, context.service.bind);
  return monitor;
}

async function createApp<S extends z.ZodObject>(
  options: ServiceOptions<S>,
  context: ServiceContext<z.output<S>>,
): Promise<NestFastifyApplication> {
  const { service, logger, kafka, lifecycle } = context;
  const application = isFactory(options.module) ? options.module(context) : options.module;
  const root: DynamicModule = {
    module: RootModule,
    imports: [
      LoggerModule.forRoot({ pinoHttp: { logger, autoLogging: false, quietReqLogger: true } }),
      CoreModule.of(context),
      application,
    ],
  };
  const app = await NestFactory.create<NestFastifyApplication>(
    root,
    new FastifyAdapter({ bodyLimit: options.bodyLimit ?? BODY_LIMIT, forceCloseConnections: true }),
    { bufferLogs: true, abortOnError: false },
  );
  app.useLogger(app.get(PinoNestLogger));
  await options.configure?.(app, context);
  const strategy = new EspalierKafkaStrategy(kafka, service.instance);
  passErrorsOfHandlers(app.get(ModulesContainer));
  app.connectMicroservice({ strategy }, { inheritAppConfig: false });
  await app.startAllMicroservices();
  await app.init();
  lifecycle.add('events', strategy);
  return app;
}

const isFactory = <S extends z.ZodObject>(
  module: ServiceOptions<S>['module'],
): module is (context: ServiceContext<z.output<S>>) => Type<unknown> | DynamicModule =>
  typeof module === 'function' && !/^class\b/.test(Function.prototype.toString.call(module));

async function listen(app: NestFastifyApplication, service: ServiceConfig): Promise<string> {
  await app.listen(service.httpPort, service.bind);
  return app.getUrl();
}

/** Waits for the brokers for a minute: on one machine everything starts at the same moment. */
async function whenReachable(kafka: KafkaPort, ensure: boolean, logger: ServiceContext['logger']): Promise<void> {
  const until = Date.now() + 60_000;
  for (;;) {
    try {
      if (ensure) await kafka.admin.ensureTopics();
      else await kafka.admin.describe();
      return;
    } catch (error) {
      const retryable = error instanceof Error && 'retryable' in error && error.retryable === true;
      if (!retryable || Date.now() > until) throw error;
      logger.warn({ err: error }, 'Kafka does not answer yet');
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

/** Ends the process in order on signals, and with code 1 on what nothing can go on from. */
function ownProcess({ service, logger, lifecycle }: ServiceContext, stop: () => Promise<void>): void {
  const end = (code: number): void => {
    setTimeout(() => process.exit(code === 0 ? 1 : code), service.drainMs + HARD_STOP_MS).unref();
    stop().then(
      () => process.exit(code),
      (error: unknown) => {
        logger.error({ err: error }, 'stop failed');
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => {
      logger.info({ signal }, 'stopping');
      end(0);
    });
  // What a machine or a fence broke must not go on for the length of a drain: out, and the supervisor starts it anew.
  lifecycle.onFail(() => process.exit(1));
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'uncaught');
    process.exit(1);
  });
  process.on('unhandledRejection', (error) => {
    logger.fatal({ err: error }, 'unhandled rejection');
    process.exit(1);
  });
}
