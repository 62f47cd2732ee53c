import {
  Module,
  type DynamicModule,
  type BeforeApplicationShutdown,
  type OnApplicationShutdown,
  Inject,
} from '@nestjs/common';
import { openKafka } from '@espalier/kafka';
import { openObjectStore } from '@espalier/objects';
import type { Logger } from 'pino';
import { AgentClient } from './agent/agent-client.ts';
import type { ManagerConfig } from './config.ts';
import { SANDBOX_DRIVER, type SandboxDriver } from './drivers/driver.ts';
import { LocalDriver } from './drivers/local/local-driver.ts';
import { KafkaSandboxEvents } from './events/kafka-sandbox-events.ts';
import { SANDBOX_EVENTS, SilentSandboxEvents, type SandboxEvents } from './events/sandbox-events.ts';
import { FilesController } from './files/files.controller.ts';
import { MANAGER_CONFIG } from './http/tokens.ts';
import { JobRegistry } from './jobs/job-registry.ts';
import { JobsController } from './jobs/jobs.controller.ts';
import { ManagerMetrics } from './metrics/metrics.ts';
import { PatchesController } from './patches/patches.controller.ts';
import { ResourcesController } from './resources/resources.controller.ts';
import { SandboxesController } from './sandboxes/sandboxes.controller.ts';
import { SandboxesService } from './sandboxes/sandboxes.service.ts';
import { ServiceController } from './service/service.controller.ts';

/** How long a launched agent may take to answer, milliseconds. */
const LAUNCH_TIMEOUT_MS = 30_000;

/** Ends what the module started, in order: sandboxes live on. */
class ShutdownOrder implements BeforeApplicationShutdown, OnApplicationShutdown {
  constructor(
    @Inject(JobRegistry) private readonly jobs: JobRegistry,
    @Inject(SandboxesService) private readonly sandboxes: SandboxesService,
    @Inject(AgentClient) private readonly agents: AgentClient,
    @Inject(SANDBOX_EVENTS) private readonly events: SandboxEvents,
  ) {}

  /** Long polls are answered first, else the listener would wait for them. */
  beforeApplicationShutdown(): void {
    this.jobs.stop();
    this.sandboxes.releaseWaiters();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.sandboxes.stop();
    this.agents.close();
    await this.events.close();
  }
}

function openEvents(config: ManagerConfig, metrics: ManagerMetrics, log: Logger): SandboxEvents {
  if (!config.kafka) return new SilentSandboxEvents();
  const { brokers, instance, prefix, profile, ssl, sasl } = config.service;
  const kafka = openKafka({
    brokers: [...brokers],
    clientId: instance,
    prefix,
    profile,
    ...(ssl ? { ssl } : {}),
    ...(sasl === undefined ? {} : { sasl }),
    logger: log,
    observer: metrics.all.kafkaObserver(),
  });
  return new KafkaSandboxEvents(kafka, metrics, log);
}

@Module({})
export class AppModule {
  static of(config: ManagerConfig, log: Logger): DynamicModule {
    return {
      module: AppModule,
      controllers: [
        ServiceController,
        SandboxesController,
        JobsController,
        FilesController,
        PatchesController,
        ResourcesController,
      ],
      providers: [
        { provide: MANAGER_CONFIG, useValue: config },
        { provide: ManagerMetrics, useFactory: () => new ManagerMetrics() },
        { provide: AgentClient, useFactory: () => new AgentClient() },
        {
          provide: SANDBOX_EVENTS,
          inject: [ManagerMetrics],
          useFactory: (metrics: ManagerMetrics) => openEvents(config, metrics, log),
        },
        {
          provide: SANDBOX_DRIVER,
          inject: [AgentClient],
          useFactory: (agents: AgentClient) =>
            new LocalDriver({
              settings: { ...config, launchTimeoutMs: LAUNCH_TIMEOUT_MS },
              agents,
              objects: openObjectStore(config.service.objects),
              log,
            }),
        },
        {
          provide: SandboxesService,
          inject: [SANDBOX_DRIVER, AgentClient, SANDBOX_EVENTS, ManagerMetrics],
          useFactory: (driver: SandboxDriver, agents: AgentClient, events: SandboxEvents, metrics: ManagerMetrics) =>
            new SandboxesService(driver, agents, events, metrics, log, config),
        },
        {
          provide: JobRegistry,
          inject: [SandboxesService, AgentClient, SANDBOX_EVENTS, ManagerMetrics],
          useFactory: async (
            sandboxes: SandboxesService,
            agents: AgentClient,
            events: SandboxEvents,
            metrics: ManagerMetrics,
          ) => {
            // Before the first request is served, all that an earlier manager left is known.
            await sandboxes.start();
            const jobs = new JobRegistry(sandboxes, agents, events, metrics, log, config.jobTtlMs);
            jobs.recover();
            return jobs;
          },
        },
        ShutdownOrder,
      ],
    };
  }
}
