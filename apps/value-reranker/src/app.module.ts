import { Module, type DynamicModule } from '@nestjs/common';
import type { ServiceContext } from '@espalier/nest';
import type { ValueRerankerConfig } from './config.ts';
import { ExampleStore } from './fitting/example-store.ts';
import { Fitter } from './fitting/fitter.ts';
import { FitterService } from './fitting/fitter.service.ts';
import { ModelStore } from './models/model-store.ts';
import { ReportBook } from './quality/report.ts';
import { ReportController } from './quality/report.controller.ts';
import { RankingController } from './ranking/ranking.controller.ts';

/** Between two computations of the quality gauges. */
const GAUGES_MS = 10_000;

/** Examples and models in the object store, one fitter, rankings by every replica. */
@Module({})
export class AppModule {
  static of(context: ServiceContext<ValueRerankerConfig>): DynamicModule {
    const { config, kafka, objects, lifecycle, logger } = context;
    const examples = new ExampleStore(objects);
    const models = new ModelStore(objects);
    const fitter = new Fitter(examples, models, {
      refitEvery: config.ESPALIER_FIT_EVERY,
      mostExamples: config.ESPALIER_FIT_EXAMPLES,
    });
    const service = new FitterService(kafka, fitter, models, {
      intervalMs: config.ESPALIER_FIT_INTERVAL_S * 1_000,
      log: logger,
      onFatal: (error) => lifecycle.fail(error),
    });
    // The newest model first: groups that wait are ranked by it.
    lifecycle.add('models', { start: async () => void (await models.refresh()) });
    lifecycle.add('fitter', service);
    return {
      module: AppModule,
      controllers: [RankingController, ReportController],
      providers: [
        { provide: ExampleStore, useValue: examples },
        { provide: ModelStore, useValue: models },
        { provide: ReportBook, useValue: new ReportBook() },
      ],
    };
  }
}

/** Keeps the quality gauges fresh. */
export function refreshGauges(report: ReportController): { start(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  return {
    start: () => {
      timer = setInterval(() => report.publish(), GAUGES_MS);
    },
    stop: () => clearInterval(timer),
  };
}
