import { Module, type DynamicModule } from '@nestjs/common';
import type { ConsumedEvent } from '@espalier/kafka';
import type { ServiceContext, ServicePart } from '@espalier/nest';
import { BatchBoard } from './batches/batch-board.ts';
import type { TrainerGatewayConfig } from './config.ts';
import { Commands } from './learner-api/commands.ts';
import { LearnerController } from './learner-api/learner.controller.ts';
import { processorsOf } from './processors/processors.ts';
import { RunBoard } from './runs/run-board.ts';
import { RunsController } from './runs/runs.controller.ts';

/** The processors, and the HTTP interface over what the log says. */
@Module({})
export class AppModule {
  static of(context: ServiceContext<TrainerGatewayConfig>): DynamicModule {
    const runs = new RunBoard();
    const batches = new BatchBoard();
    const commands = new Commands(runs, context.kafka.producer(), context.config.ESPALIER_VERDICT_WAIT_MS);
    context.lifecycle.add('boards', boardsOf(context, runs, batches));
    for (const [name, part] of processorsOf(context)) context.lifecycle.add(name, part);
    return {
      module: AppModule,
      controllers: [LearnerController, RunsController],
      providers: [
        { provide: RunBoard, useValue: runs },
        { provide: BatchBoard, useValue: batches },
        { provide: Commands, useValue: commands },
      ],
    };
  }
}

/** Keeps the boards in step with the log: read whole at the start, followed from then on. */
function boardsOf(context: ServiceContext<TrainerGatewayConfig>, runs: RunBoard, batches: BatchBoard): ServicePart {
  const consumer = context.kafka.broadcast({
    topics: ['run.submitted', 'run.reported', 'batch.offered'],
    from: 'earliest',
    handler: (event: ConsumedEvent<'run.submitted' | 'run.reported' | 'batch.offered'>) => {
      switch (event.topic) {
        case 'run.submitted':
          runs.onSubmitted(event.value);
          break;
        case 'run.reported':
          runs.onReported(event.value);
          batches.onReported(event.value);
          break;
        case 'batch.offered':
          batches.onOffered(event.value);
          break;
        default:
          event satisfies never;
      }
    },
  });
  return {
    start: async () => {
      await consumer.start();
      await consumer.caughtUp();
    },
    stop: () => consumer.stop(),
    healthy: () => consumer.healthy(),
  };
}
