import { Controller, Get, Inject } from '@nestjs/common';

/** What the service does with scorings. */
export class JudgeStatus {
  /** The judge's base URL; null when none is configured. */
  readonly endpoint: string | null;
  readonly verdicts: Record<string, number> = {};

  constructor(endpoint: string | null) {
    this.endpoint = endpoint;
  }

  count(status: string): void {
    this.verdicts[status] = (this.verdicts[status] ?? 0) + 1;
  }
}

/** `GET /health`: says openly when every scoring is skipped for want of a judge. */
@Controller()
export class JudgeStatusController {
  constructor(@Inject(JudgeStatus) private readonly status: JudgeStatus) {}

  @Get('health')
  health(): object {
    const { endpoint, verdicts } = this.status;
    const judge = endpoint === null ? 'not configured: scorings are SKIPPED; set ESPALIER_JUDGE_URL' : endpoint;
    return { status: 'ok', judge, scores: endpoint !== null, verdicts };
  }
}
