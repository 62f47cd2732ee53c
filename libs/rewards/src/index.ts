export {
  combineRewards,
  trustedScore,
  type CombinableReward,
  type CombinedReward,
  type CombineOptions,
} from './combine-rewards.ts';
export { applyRubric, rubricScore, RubricError, type RubricItem } from './rubric.ts';
