export {
  advantagesOf,
  estimatorNames,
  GRPO_EPSILON,
  isEstimator,
  RewardNotFiniteError,
  UnknownEstimatorError,
  type Estimator,
} from './estimators.ts';
export { meanOf, stdOf } from './moments.ts';
