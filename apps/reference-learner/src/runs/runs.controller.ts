import { Controller, Inject } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import type { RunReported, RunSubmitted } from '@espalier/contracts';
import type { PatternExtras } from '@espalier/nest';
import { RunWatch } from './run-watch.ts';

const everything: PatternExtras = { kind: 'broadcast', from: 'earliest' };

/** Hears of runs. */
@Controller()
export class RunsController {
  constructor(@Inject(RunWatch) private readonly runs: RunWatch) {}

  @EventPattern('run.submitted', everything)
  submitted(@Payload() event: RunSubmitted): void {
    this.runs.onSubmitted(event);
  }

  @EventPattern('run.reported', everything)
  reported(@Payload() event: RunReported): void {
    this.runs.onReported(event);
  }
}
