import { Global, Module, type DynamicModule } from '@nestjs/common';
import type { Logger } from 'pino';
import type { KafkaPort } from '@espalier/kafka';
import type { ObjectStore } from '@espalier/objects';
import type { ServiceConfig } from '../config/service-config.ts';
import { Lifecycle } from '../lifecycle/lifecycle.ts';
import { Metrics } from '../metrics/metrics.ts';
import { CONFIG, KAFKA, LIFECYCLE, LOGGER, METRICS, OBJECTS, SERVICE } from './tokens.ts';

/** What every module of a service may inject. */
export interface ServiceContext<C = unknown> {
  readonly service: ServiceConfig;
  /** The service's own settings. */
  readonly config: Readonly<C>;
  readonly kafka: KafkaPort;
  readonly objects: ObjectStore;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly lifecycle: Lifecycle;
}

/** Provides the {@link ServiceContext} under its tokens, everywhere. Specs build it with parts of their own. */
@Global()
@Module({})
export class CoreModule {
  static of(context: Partial<ServiceContext>): DynamicModule {
    const values: [symbol, unknown][] = [
      [SERVICE, context.service],
      [CONFIG, context.config],
      [KAFKA, context.kafka],
      [OBJECTS, context.objects],
      [LOGGER, context.logger],
      [METRICS, context.metrics],
      [LIFECYCLE, context.lifecycle],
    ];
    const providers = values
      .filter(([, value]) => value !== undefined)
      .map(([provide, useValue]) => ({ provide, useValue }));
    return { module: CoreModule, providers, exports: providers.map(({ provide }) => provide) };
  }
}
