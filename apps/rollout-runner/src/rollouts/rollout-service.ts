import { randomUUID } from 'node:crypto';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { CapabilityKey, ChatUpstream, PolicyVersions } from '@espalier/gateway';
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
import { openModelStream, SandboxClient } from '@espalier/sandbox-client';
import type { RolloutRunnerConfig } from '../config.ts';
import { rolloutMetrics } from '../metrics/rollout-metrics.ts';
import { KafkaAttemptLog } from '../model-calls/attempt-log.ts';
import { PolicyFeed } from '../policies/policy-feed.ts';
import { DEFAULT_TIMINGS, type Logger, type RolloutPorts } from './rollout-ports.ts';
import { RolloutWorker } from './rollout-worker.ts';

/** Puts the worker together and into the service's life: policies are known before the first claim. */
@Injectable()
export class RolloutService implements OnModuleInit {
  constructor(
    @Inject(KAFKA) private readonly kafka: KafkaPort,
    @Inject(OBJECTS) private readonly objects: ObjectStore,
    @Inject(CONFIG) private readonly config: RolloutRunnerConfig,
    @Inject(SERVICE) private readonly service: ServiceConfig,
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(LIFECYCLE) private readonly lifecycle: Lifecycle,
  ) {}

  onModuleInit(): void {
    const policies = new PolicyVersions();
    const sandboxes = this.#sandboxes();
    const worker = this.#worker(policies, sandboxes);
    this.lifecycle.add('policies', new PolicyFeed(this.kafka, policies));
    this.lifecycle.add('sandboxes', { stop: () => sandboxes.close() });
    this.lifecycle.add('rollouts', worker);
  }

  #sandboxes(): SandboxClient {
    const { ESPALIER_SANDBOX_URL: baseUrl, ESPALIER_SANDBOX_API_KEY: apiKey } = this.config;
    return new SandboxClient({ baseUrl, ...(apiKey === undefined ? {} : { apiKey }) });
  }

  #worker(policies: PolicyVersions, sandboxes: SandboxClient): RolloutWorker {
    const { config } = this;
    const key = config.ESPALIER_POLICY_API_KEY;
    // The worker is read by the gauge only when metrics are scraped, after it exists.
    const observer = rolloutMetrics(this.metrics, () => worker.inFlight);
    const ports: RolloutPorts = {
      sandboxes,
      openStream: openModelStream,
      objects: this.objects,
      producer: this.kafka.producer(),
      log: new KafkaAttemptLog(this.kafka.producer(), this.kafka.reader(), this.objects),
      upstream: new ChatUpstream({
        policyState: policies,
        retries: { attempts: config.ESPALIER_MODEL_TRIES, timeouts: 2, baseMs: 500, capMs: 8_000 },
        headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
        observer,
      }),
      capabilities: new CapabilityKey(config.ESPALIER_CAPABILITY_KEY),
      observer,
      logger: this.logger,
    };
    const leaseMs = config.ESPALIER_SANDBOX_LEASE_MS;
    const worker: RolloutWorker = new RolloutWorker(this.kafka, ports, {
      // Unique per process: a restarted instance must not pass for the one that held its claims.
      workerId: `${this.service.instance}.${randomUUID().slice(0, 8)}`,
      slots: config.ESPALIER_SLOTS,
      timings: {
        ...DEFAULT_TIMINGS,
        leaseMs,
        renewMs: leaseMs / 4,
        graceMs: config.ESPALIER_BUDGET_GRACE_MS,
        detach: config.ESPALIER_DETACH,
      },
    });
    return worker;
  }
}
