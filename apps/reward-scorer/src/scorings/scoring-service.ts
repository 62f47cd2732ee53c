import { randomUUID } from 'node:crypto';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { KafkaPort } from '@espalier/kafka';
import {
  CONFIG,
  KAFKA,
  LIFECYCLE,
  LOGGER,
  METRICS,
  OBJECTS,
  SERVICE,
  type Lifecycle,
  type Metrics,
  type ServiceConfig,
} from '@espalier/nest';
import type { ObjectStore } from '@espalier/objects';
import { SandboxClient } from '@espalier/sandbox-client';
import type { RewardScorerConfig } from '../config.ts';
import { scoringMetrics } from '../metrics/scoring-metrics.ts';
import { DEFAULT_TIMINGS, type Logger } from './scoring-ports.ts';
import { ScoringWorker } from './scoring-worker.ts';

/** Puts the worker together and into the service's life. */
@Injectable()
export class ScoringService implements OnModuleInit {
  constructor(
    @Inject(KAFKA) private readonly kafka: KafkaPort,
    @Inject(OBJECTS) private readonly objects: ObjectStore,
    @Inject(CONFIG) private readonly config: RewardScorerConfig,
    @Inject(SERVICE) private readonly service: ServiceConfig,
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(LIFECYCLE) private readonly lifecycle: Lifecycle,
  ) {}

  onModuleInit(): void {
    const { ESPALIER_SANDBOX_URL: baseUrl, ESPALIER_SANDBOX_API_KEY: apiKey } = this.config;
    const sandboxes = new SandboxClient({ baseUrl, ...(apiKey === undefined ? {} : { apiKey }) });
    // The worker is read by the gauge only when metrics are scraped, after it exists.
    const observer = scoringMetrics(this.metrics, () => worker.inFlight);
    const leaseMs = this.config.ESPALIER_SANDBOX_LEASE_MS;
    const ports = { sandboxes, objects: this.objects, producer: this.kafka.producer(), observer, logger: this.logger };
    const worker: ScoringWorker = new ScoringWorker(this.kafka, ports, {
      // Unique per process: a restarted instance must not pass for the one that held its claims.
      workerId: `${this.service.instance}.${randomUUID().slice(0, 8)}`,
      slots: this.config.ESPALIER_SLOTS,
      timings: { ...DEFAULT_TIMINGS, leaseMs, renewMs: leaseMs / 4, setupMs: this.config.ESPALIER_SETUP_MS },
    });
    this.lifecycle.add('sandboxes', { stop: () => sandboxes.close() });
    this.lifecycle.add('scorings', worker);
  }
}
