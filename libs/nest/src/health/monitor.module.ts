import { Module, type DynamicModule } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { Lifecycle } from '../lifecycle/lifecycle.ts';
import { Metrics } from '../metrics/metrics.ts';
import { LIFECYCLE, METRICS } from '../service/tokens.ts';
import { EventLoopWatch } from './event-loop.ts';
import { MonitorController } from './monitor.controller.ts';

/** The application behind the metrics port. */
@Module({})
export class MonitorModule {
  static of(lifecycle: Lifecycle, metrics: Metrics, loop: EventLoopWatch): DynamicModule {
    return {
      module: MonitorModule,
      imports: [TerminusModule.forRoot({ logger: false })],
      controllers: [MonitorController],
      providers: [
        { provide: LIFECYCLE, useValue: lifecycle },
        { provide: METRICS, useValue: metrics },
        { provide: EventLoopWatch, useValue: loop },
      ],
    };
  }
}
