export { RewardScorerModule } from './app.module.ts';
export { rewardScorerConfig, type RewardScorerConfig } from './config.ts';
