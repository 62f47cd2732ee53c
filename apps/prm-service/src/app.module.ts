import { randomUUID } from 'node:crypto';
import { Module, type DynamicModule } from '@nestjs/common';
import type { ServiceContext } from '@espalier/nest';
import type { PrmConfig } from './config.ts';
import { JudgeStatus, JudgeStatusController } from './scorings/judge-status.controller.ts';
import { RubricScorer } from './scorings/rubric-scorer.ts';
import { ScoringWorker } from './scorings/scoring-worker.ts';

/** The process judge: claims scorings of scorer `rubric`. */
@Module({})
export class AppModule {
  static of({ config, kafka, objects, lifecycle, logger, metrics, service }: ServiceContext<PrmConfig>): DynamicModule {
    const url = config.ESPALIER_JUDGE_URL ?? null;
    const status = new JudgeStatus(url);
    if (url === null) logger.warn('ESPALIER_JUDGE_URL is not set: scorings of scorer rubric are reported as SKIPPED');
    metrics
      .gauge({ name: 'espalier_judge_configured', help: '1 when a judge endpoint is configured; 0: all is SKIPPED.' })
      .set(url === null ? 0 : 1);
    const scored = metrics.counter({
      name: 'espalier_scorings_total',
      help: 'Verdicts by status and failure code.',
      labelNames: ['status', 'code'],
    });
    const seconds = metrics.histogram({
      name: 'espalier_scoring_seconds',
      help: 'Time from grant to verdict.',
      buckets: [0.1, 0.5, 1, 5, 15, 30, 60, 120, 300],
    });
    const endpoint =
      url === null ? null : { url, apiKey: config.ESPALIER_JUDGE_API_KEY ?? null, model: config.ESPALIER_JUDGE_MODEL };
    const worker = new ScoringWorker(kafka, new RubricScorer(objects, endpoint), {
      // Unique per process: a restarted instance must not pass for the one that held its claims.
      workerId: `${service.instance}.${randomUUID().slice(0, 8)}`,
      slots: config.ESPALIER_SLOTS,
      onVerdict: (verdict, latencyMs) => {
        status.count(verdict.status);
        scored.inc({ status: verdict.status, code: verdict.failure?.code ?? '' });
        seconds.observe(latencyMs / 1_000);
      },
    });
    lifecycle.add('scorings', worker);
    return {
      module: AppModule,
      controllers: [JudgeStatusController],
      providers: [{ provide: JudgeStatus, useValue: status }],
    };
  }
}
