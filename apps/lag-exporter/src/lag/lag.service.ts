import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { Counter, Gauge } from 'prom-client';
import type { Logger } from 'pino';
import type { KafkaPort } from '@espalier/kafka';
import { CONFIG, KAFKA, Lifecycle, LIFECYCLE, LOGGER, Metrics, METRICS, type ServicePart } from '@espalier/nest';
import type { LagExporterConfig } from '../config.ts';
import { labelsOf, measuredGroups } from './measured-groups.ts';

/** Measures the lag of every group in data records, again and again, into `kafka_consumergroup_lag`. */
@Injectable()
export class LagService implements OnModuleInit, ServicePart {
  private readonly lag: Gauge<'group' | 'topic' | 'partition'>;
  private readonly failures: Counter;
  private readonly measuredAt: Gauge;
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;
  private measured = false;

  constructor(
    @Inject(KAFKA) private readonly kafka: KafkaPort,
    @Inject(METRICS) metrics: Metrics,
    @Inject(LIFECYCLE) private readonly lifecycle: Lifecycle,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(CONFIG) private readonly config: LagExporterConfig,
  ) {
    this.lag = metrics.consumerLag();
    this.failures = metrics.counter({
      name: 'espalier_lag_failures_total',
      help: 'Measurements that failed; the gauges keep their last values.',
    });
    this.measuredAt = metrics.gauge({
      name: 'espalier_lag_measured_timestamp_seconds',
      help: 'When lag was last measured completely.',
    });
  }

  onModuleInit(): void {
    this.lifecycle.add('lag', this);
  }

  async start(): Promise<void> {
    await this.round();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  ready(): boolean {
    return this.measured;
  }

  private async round(): Promise<void> {
    try {
      await this.measure();
    } catch (error) {
      this.failures.inc();
      this.logger.warn({ err: error }, 'lag not measured');
    }
    if (!this.stopped) this.timer = setTimeout(() => void this.round(), this.config.ESPALIER_LAG_INTERVAL_MS);
  }

  /** One measurement of all groups. Throws what Kafka throws; gauges of groups measured before stay. */
  async measure(): Promise<void> {
    const { prefix } = this.kafka.connection;
    for (const measured of measuredGroups()) {
      if (this.stopped) return;
      for (const { partition, lag } of await this.kafka.admin.dataLag(measured.group, measured.topic))
        this.lag.set(labelsOf(prefix, measured, partition), lag);
    }
    this.measured = true;
    this.measuredAt.set(Date.now() / 1000);
  }
}
