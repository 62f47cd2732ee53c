import { Module } from '@nestjs/common';
import { RolloutService } from './rollouts/rollout-service.ts';

/** The rollout-runner. */
@Module({ providers: [RolloutService] })
export class RolloutRunnerModule {}
