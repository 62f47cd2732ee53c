import { bootstrapService } from '@espalier/nest';
import { RewardScorerModule } from './app.module.ts';
import { rewardScorerConfig } from './config.ts';

await bootstrapService({ name: 'reward-scorer', module: RewardScorerModule, config: rewardScorerConfig });
