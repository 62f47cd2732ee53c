import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { createLogger } from '@espalier/nest';
import { AppModule } from './app.module.ts';
import type { ManagerConfig } from './config.ts';
import { ApiErrorFilter } from './http/api-error.filter.ts';
import { ApiKeyGuard } from './http/api-key.guard.ts';
import { createHttpAdapter } from './http/http-adapter.ts';
import { ManagerMetrics } from './metrics/metrics.ts';
import { SandboxesService } from './sandboxes/sandboxes.service.ts';
import { TerminalGateway } from './terminals/terminal-gateway.ts';
import { serveMetrics, type MetricsServer } from './metrics/metrics-server.ts';

/** A running manager. */
export interface RunningManager {
  readonly port: number;
  readonly metricsPort: number;
  close(): Promise<void>;
}

const BACKLOG = 2048;

/** Boots the service. Throws when the state directory is in use, or this machine cannot isolate sandboxes. */
export async function startManager(config: ManagerConfig, logger?: Logger): Promise<RunningManager> {
  const log = logger ?? createLogger(config.service);
  if (config.requireApiKey && config.apiKeys.size === 0)
    log.warn('no API key is configured: every call is refused; set ESPALIER_SANDBOX_API_KEY or REQUIRE_API_KEY=false');
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.of(config, log), createHttpAdapter(), {
    bodyParser: false,
    logger: false,
    abortOnError: false,
  });
  app.useGlobalFilters(new ApiErrorFilter(log));
  app.useGlobalGuards(new ApiKeyGuard(config.apiKeys, config.requireApiKey));
  const terminals = new TerminalGateway(app.get(SandboxesService), config, log);
  let metrics: MetricsServer | undefined;
  try {
    await app.init();
    const fastify = app.getHttpAdapter().getInstance();
    terminals.attach(fastify.server);
    await fastify.listen({ host: config.host, port: config.port, backlog: BACKLOG });
    metrics = await serveMetrics(app.get(ManagerMetrics).all.registry, config.service.bind, config.service.metricsPort);
  } catch (error) {
    await app.close();
    throw error;
  }
  const { port } = app.getHttpServer().address() as AddressInfo;
  log.info({ host: config.host, port, metrics_port: metrics.port, state: config.stateDir }, 'sandbox-manager is up');
  const opened = metrics;
  return {
    port,
    metricsPort: metrics.port,
    close: async () => {
      terminals.close();
      await app.close();
      await opened.close();
    },
  };
}
