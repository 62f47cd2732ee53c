import { Module } from '@nestjs/common';
import { ScoringService } from './scorings/scoring-service.ts';

/** The reward-scorer. */
@Module({ providers: [ScoringService] })
export class RewardScorerModule {}
