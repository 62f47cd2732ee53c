import { Controller, Get, Header, Inject } from '@nestjs/common';
import { HealthCheckService, HealthIndicatorService, type HealthCheckResult } from '@nestjs/terminus';
import { Lifecycle } from '../lifecycle/lifecycle.ts';
import { Metrics } from '../metrics/metrics.ts';
import { LIFECYCLE, METRICS } from '../service/tokens.ts';
import { EventLoopWatch } from './event-loop.ts';

const MAX_LOOP_LAG_MS = 10_000;

/**
 * Probes and metrics, on a port of their own. Liveness asks for the event loop and the watchdogs alone: a broker that is away
 * is no reason to restart a process.
 */
@Controller()
export class MonitorController {
  constructor(
    private readonly checks: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly loop: EventLoopWatch,
    @Inject(LIFECYCLE) private readonly lifecycle: Lifecycle,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

  @Get('health/live')
  live(): Promise<HealthCheckResult> {
    return this.checks.check([
      () => {
        const lagMs = this.loop.lagMs();
        const indicator = this.indicators.check('event-loop');
        return lagMs > MAX_LOOP_LAG_MS ? indicator.down({ lagMs }) : indicator.up({ lagMs });
      },
      () => {
        const stalled = this.lifecycle.unhealthy();
        const indicator = this.indicators.check('watchdogs');
        return stalled.length > 0 ? indicator.down({ stalled }) : indicator.up();
      },
    ]);
  }

  @Get('health/ready')
  ready(): Promise<HealthCheckResult> {
    return this.checks.check([
      () => {
        const waiting = this.lifecycle.notReady();
        const indicator = this.indicators.check('service');
        return waiting.length > 0 ? indicator.down({ waiting }) : indicator.up();
      },
    ]);
  }

  @Get('health/started')
  started(): Promise<HealthCheckResult> {
    return this.checks.check([
      () => {
        const indicator = this.indicators.check('start');
        return this.lifecycle.phase === 'starting' ? indicator.down() : indicator.up();
      },
    ]);
  }

  @Get('metrics')
  @Header('Content-Type', 'text/plain; version=0.0.4; charset=utf-8')
  scrape(): Promise<string> {
    return this.metrics.registry.metrics();
  }
}
