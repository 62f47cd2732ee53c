export { asMessages, messageKey, messageText, type ChatMessage, type Json } from './canonical-message.ts';
export type { CallClass } from './call-class.ts';
export { MessageError, TrajectoryLogError } from './errors.ts';
export { MessageTree, NO_NODE, type TreeMatch, type TreeNode } from './message-tree.ts';
export { answerOf, type CallRecord } from './recorded-call.ts';
export { expandMask, joinVersions, maskRuns, sliceVersions, versionedTokens, type Span } from './runs.ts';
export { continuationOf, DEFAULT_DRIFT, type Continuation, type Drift, type DriftOptions } from './token-tree.ts';
export {
  HARNESS_LOG_BYTES,
  TrajectoryBuilder,
  type BuiltTrajectory,
  type CallDelta,
  type CallRequest,
  type TrajectoryIdentity,
} from './trajectory-builder.ts';
