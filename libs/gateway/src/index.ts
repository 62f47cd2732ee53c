export {
  attemptPath,
  CapabilityKey,
  splitAttemptPath,
  type Capability,
  type CapabilityRole,
} from './capability/capability-token.ts';
export { CapabilityError, RequestError, SessionClosedError, UpstreamError, type UpstreamErrorCode } from './errors.ts';
export { PolicyVersions } from './policy-versions.ts';
export type {
  AnswerWriter,
  BodyStore,
  CallRecorder,
  GatewayCall,
  GatewayObserver,
  ModelCallRecord,
  PolicyState,
  PublishedPolicy,
} from './ports.ts';
export { checkIn, checkOut, CLAIM_CHECK_BYTES } from './record/claim-check.ts';
export type { BudgetStop } from './session/budgets.ts';
export { GatewaySession, type SessionPorts, type SessionScope } from './session/gateway-session.ts';
export {
  ChatUpstream,
  DEFAULT_RETRIES,
  PolicyUnansweredError,
  type ChatUpstreamOptions,
  type RetryPolicy,
} from './upstream/chat-upstream.ts';
export { UpstreamPool } from './upstream/upstream-pool.ts';
export { completionBody, completionStream, type ChatAnswer } from './wire/chat-answer.ts';
