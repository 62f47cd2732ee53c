import { Controller, Get, Inject } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import type { RankingDecided } from '@espalier/contracts';
import { METRICS, Metrics, type PatternExtras } from '@espalier/nest';
import { ReportBook, type RankingReport } from './report.ts';

const everything: PatternExtras = { kind: 'broadcast', from: 'earliest' };

/** How good the rankings are: `GET /v1/report`, and gauges. */
@Controller()
export class ReportController {
  constructor(
    @Inject(ReportBook) private readonly book: ReportBook,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

  @EventPattern('ranking.decided', everything)
  ranked(@Payload() event: RankingDecided): void {
    this.book.add(event);
  }

  @Get('v1/report')
  report(): RankingReport {
    return this.book.report();
  }

  /** Sets the gauges; called at intervals, since the figures take a pass over all remembered groups. */
  publish(): void {
    const { mixed, auc, ece, model_version: version } = this.book.report();
    const quality = this.metrics.gauge({
      name: 'espalier_ranking_quality_ratio',
      help: 'Best of N over groups where the choice matters, AUC and calibration error over all trajectories; held out.',
      labelNames: ['measure'],
    });
    const figures = { best_at_1: mixed.best_at_1, random: mixed.random, oracle: mixed.oracle, auc, ece };
    for (const [measure, value] of Object.entries(figures)) if (value !== null) quality.set({ measure }, value);
    this.metrics
      .gauge({ name: 'espalier_ranking_model_version', help: 'Newest value model that ranked a group.' })
      .set(version);
  }
}
