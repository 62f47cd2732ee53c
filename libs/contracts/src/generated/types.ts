// Generated from schemas/ by `npm run contracts:generate`. Do not edit.
/** Work that is alive. */
export interface AliveWork {
  /** Attempt or scoring id. */
  work_id: string;
  /** Group. */
  group_id: string;
  /** Granted epoch. */
  epoch: number;
}
/** {@link AliveWork} as a producer may give it: fields with a default may be left out. */
export interface AliveWorkDraft {
  work_id: string;
  group_id: string;
  epoch: number;
}

/** Consecutive records applied from one topic. */
export interface AppliedRange {
  /** Topic. */
  topic: string;
  /** First offset. */
  first_offset: number;
  /** Last offset. */
  last_offset: number;
}
/** {@link AppliedRange} as a producer may give it: fields with a default may be left out. */
export interface AppliedRangeDraft {
  topic: string;
  first_offset: number;
  last_offset: number;
}

/** The one class of an attempt that is no longer open (conservation). */
export type AttemptOutcome =
  'UNKNOWN' | 'REPLACED' | 'CANCELLED' | 'FAILED' | 'SPARE' | 'FILTERED' | 'POOLED' | 'DELIVERED';

/** How decided groups become batches. */
export interface BatchConfig {
  /** Trajectories a batch holds; a multiple of the group size. */
  size: number;
  /** Batches the learner trains between two policy versions. */
  batches_per_version: number;
  /** eta: most policy versions a sampled token may lag behind. */
  max_staleness: number;
  /** At the end offer what is left as a partial batch (true) or filter it (false). */
  partial_remainder: boolean;
}
/** {@link BatchConfig} as a producer may give it: fields with a default may be left out. */
export interface BatchConfigDraft {
  size: number;
  batches_per_version?: number | undefined;
  max_staleness?: number | undefined;
  partial_remainder?: boolean | undefined;
}

/** A trajectory in a batch. */
export interface BatchEntry {
  /** Trajectory. */
  trajectory_id: string;
  /** Its group. */
  group_id: string;
  /** Its task. */
  task_id: string;
  /** Combined reward. */
  reward: number;
  /** Advantage. */
  advantage: number;
  /** Trajectory body. */
  body: ObjectRef;
  /** Samples in the body. */
  samples: number;
  /** Sampled tokens. */
  sampled_tokens: number;
  /** Oldest version. */
  policy_version_min: null | number;
  /** Newest version. */
  policy_version_max: null | number;
}
/** {@link BatchEntry} as a producer may give it: fields with a default may be left out. */
export interface BatchEntryDraft {
  trajectory_id: string;
  group_id: string;
  task_id: string;
  reward: number;
  advantage: number;
  body: ObjectRefDraft;
  samples: number;
  sampled_tokens: number;
  policy_version_min?: null | number | undefined;
  policy_version_max?: null | number | undefined;
}

/** A batch's manifest. Offered again byte-identical (but for event_id, occurred_at and learner_epoch) until acknowledged. */
export interface BatchOffered {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** `<run>/batch/<seq>`. */
  batch_id: string;
  /** Number in the run, from 1. */
  seq: number;
  /** The remainder at the end of a run. */
  partial: boolean;
  /** Trajectories, groups together. */
  entries: BatchEntry[];
  /** SHA-256 over the entries' canonical form, hex. */
  digest: string;
  /** Newest counting policy version when assembled. */
  policy_version: number;
  /** Learner session it is offered to. */
  learner_epoch: number;
}
/** {@link BatchOffered} as a producer may give it: fields with a default may be left out. */
export interface BatchOfferedDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  batch_id: string;
  seq: number;
  partial?: boolean | undefined;
  entries: BatchEntryDraft[];
  digest: string;
  policy_version: number;
  learner_epoch?: number | undefined;
}

/** One training sample of a batch as delivered to a learner. */
export interface BatchSample {
  /** Batch. */
  batch_id: string;
  /** Number of the batch. */
  seq: number;
  /** Sample. */
  sample_id: string;
  /** Trajectory. */
  trajectory_id: string;
  /** Group. */
  group_id: string;
  /** Task. */
  task_id: string;
  /** Combined reward. */
  reward: number;
  /** Advantage of the trajectory. */
  advantage: number;
  /** Tokens. */
  token_ids: Int32Array;
  /** Log-probs at sampling. */
  logprobs: Float32Array;
  /** Run lengths of the loss mask, alternating, beginning with a run of 0. */
  mask_runs: number[];
  /** Policy versions. */
  version_runs: VersionRun[];
  /** The task's instruction. */
  instruction: string;
}
/** {@link BatchSample} as a producer may give it: fields with a default may be left out. */
export interface BatchSampleDraft {
  batch_id: string;
  seq: number;
  sample_id: string;
  trajectory_id: string;
  group_id: string;
  task_id: string;
  reward: number;
  advantage: number;
  token_ids: Int32Array;
  logprobs: Float32Array;
  mask_runs: number[];
  version_runs: VersionRunDraft[];
  instruction?: string | undefined;
}

/** A learner acknowledges: every batch up to seq is contained in a durable checkpoint. */
export interface BatchTrained {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Answered in run.reported. */
  command_id: string;
  /** Its session. */
  learner_epoch: number;
  /** Cumulative. */
  seq: number;
  /** The durable checkpoint. */
  checkpoint: string;
  /** Loss and other figures as JSON. */
  metrics_json: string;
}
/** {@link BatchTrained} as a producer may give it: fields with a default may be left out. */
export interface BatchTrainedDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  command_id: string;
  learner_epoch: number;
  seq: number;
  checkpoint: string;
  metrics_json?: string | undefined;
}

/** A recorded model call. */
export interface BodyCall {
  /** Order in the attempt. */
  call_no: number;
  /** Last prompt message's node; -1 if none. */
  leaf_node: number;
  /** Node of the answer; -1 if it failed. */
  answer_node: number;
  /** Wire spoken by the harness. */
  wire: string;
  /** Sampling fields, JSON. */
  sampling_json: string;
  /** Tools, JSON. */
  tools_json: null | string;
  /** `main`, `side`, `sub`, `title`, `compaction`. */
  call_class: string;
  /** Prompt tokens. */
  prompt_tokens: number;
  /** Sampled tokens. */
  output_tokens: number;
  /** Policy versions. */
  version_runs: VersionRun[];
  /** Finish reason. */
  finish_reason: string;
  /** Upstream time, milliseconds. */
  latency_ms: number;
  /** When it was asked. */
  started_at: number;
  /** Why it failed. */
  failure: null | Failure;
}
/** {@link BodyCall} as a producer may give it: fields with a default may be left out. */
export interface BodyCallDraft {
  call_no: number;
  leaf_node: number;
  answer_node?: number | undefined;
  wire: string;
  sampling_json: string;
  tools_json?: null | string | undefined;
  call_class?: string | undefined;
  prompt_tokens: number;
  output_tokens: number;
  version_runs: VersionRunDraft[];
  finish_reason: string;
  latency_ms: number;
  started_at: number;
  failure?: null | FailureDraft | undefined;
}

/** Circuit breaker on infrastructure failures. */
export interface BreakerConfig {
  /** Ended attempts looked at. */
  window: number;
  /** Attempts needed before it may open. */
  min_attempts: number;
  /** Share of INFRA failures above which the run pauses. */
  max_infra_share: number;
}
/** {@link BreakerConfig} as a producer may give it: fields with a default may be left out. */
export interface BreakerConfigDraft {
  window?: number | undefined;
  min_attempts?: number | undefined;
  max_infra_share?: number | undefined;
}

/** When a group is judged. */
export type DecisionMode = 'UNKNOWN' | 'PER_COMPLETION' | 'STRIDE';

/** Why something did not end as asked. */
export interface Failure {
  /** Who caused it. */
  class: FailureClass;
  /** Stable code, AREA_REASON, e.g. `SANDBOX_CREATE`, `LLM_TIMEOUT`, `SCORER_TIMEOUT`. */
  code: string;
  /** Human-readable cause, at most 1,000 characters, no secrets. */
  message: string;
  /** Phase in which it happened, e.g. `sandbox`, `harness`, `snapshot`, `verifier`. */
  stage: null | string;
  /** Whether another attempt may succeed. */
  retryable: boolean;
}
/** {@link Failure} as a producer may give it: fields with a default may be left out. */
export interface FailureDraft {
  class: FailureClass;
  code: string;
  message: string;
  stage?: null | string | undefined;
  retryable?: boolean | undefined;
}

/** Who caused a failure; only POLICY failures are trustworthy outcomes of the policy. */
export type FailureClass = 'UNKNOWN' | 'POLICY' | 'BUDGET' | 'INFRA' | 'CONTROL' | 'SUSPECT';

/** What to do. */
export type GroupCommand = 'UNKNOWN' | 'CANCEL' | 'STALE';

/** The run tells a group to stop. */
export interface GroupCommanded {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Group: one admission of a task, `<run>/<task>/<admission>`. */
  group_id: string;
  /** CANCEL ends open attempts; STALE filters the group. */
  command: GroupCommand;
  /** Reason code, e.g. `RUN_CANCELLED`, `RUN_ENDED`. */
  reason: string;
}
/** {@link GroupCommanded} as a producer may give it: fields with a default may be left out. */
export interface GroupCommandedDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  group_id: string;
  command: GroupCommand;
  reason: string;
}

/** How a group is formed and balanced (Balanced Adaptive Rollout). */
export interface GroupConfig {
  /** N: trajectories a decided group trains on. */
  size: number;
  /** Nmax: most counted rollouts of one group. */
  budget: number;
  /** PER_COMPLETION decides at each scored completion; STRIDE waits for each stride of `stride` rollouts. */
  mode: DecisionMode;
  /** Rollouts launched together in STRIDE mode; equal to budget for the published schedule. */
  stride: number;
  /** Least share of positive trajectories in the balanced band. */
  rho_min: number;
  /** Largest share of positive trajectories in the balanced band. */
  rho_max: number;
  /** After the budget, accept any mix that passes the final filter. */
  relaxed: boolean;
  /** Final filter: rewards must not all be equal. */
  require_std: boolean;
  /** Final filter: at least one positive reward. */
  require_positive: boolean;
  /** Most infrastructure-failed attempts replaced per group before the group fails. */
  max_replacements: number;
}
/** {@link GroupConfig} as a producer may give it: fields with a default may be left out. */
export interface GroupConfigDraft {
  size: number;
  budget: number;
  mode: DecisionMode;
  stride: number;
  rho_min: number;
  rho_max: number;
  relaxed?: boolean | undefined;
  require_std?: boolean | undefined;
  require_positive?: boolean | undefined;
  max_replacements?: number | undefined;
}

/** A group's decision: all its trajectories, who is in, who is out and why. */
export interface GroupDecided {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Group: one admission of a task, `<run>/<task>/<admission>`. */
  group_id: string;
  /** Task, unique in its run. */
  task_id: string;
  /** What became of it. */
  outcome: GroupOutcome;
  /** How members were chosen. */
  selection: SelectionKind;
  /** Filter or failure reason, e.g. `ZERO_STD`, `NO_POSITIVE`, `INFEASIBLE`, `STALE`. */
  reason: null | string;
  /** All recorded trajectories. */
  members: GroupMember[];
  /** Trajectories with a reward. */
  scored: number;
  /** Of these, positive. */
  passed: number;
  /** passed / scored over all trajectories, not only the selected. */
  pass_rate: null | number;
  /** Mean reward of the selected. */
  reward_mean: null | number;
  /** Standard deviation of the selected (n - 1). */
  reward_std: null | number;
  /** Advantage estimator. */
  estimator: string;
  /** Attempts cancelled by the decision. */
  cancelled: number;
  /** Attempts replaced after failures. */
  replaced: number;
  /** From the group's opening to its decision, milliseconds. */
  duration_ms: number;
}
/** {@link GroupDecided} as a producer may give it: fields with a default may be left out. */
export interface GroupDecidedDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  group_id: string;
  task_id: string;
  outcome: GroupOutcome;
  selection: SelectionKind;
  reason?: null | string | undefined;
  members: GroupMemberDraft[];
  scored: number;
  passed: number;
  pass_rate?: null | number | undefined;
  reward_mean?: null | number | undefined;
  reward_std?: null | number | undefined;
  estimator?: string | undefined;
  cancelled?: number | undefined;
  replaced?: number | undefined;
  duration_ms?: number | undefined;
}

/** A trajectory of the group. */
export interface GroupMember {
  /** Trajectory. */
  trajectory_id: string;
  /** Attempt. */
  attempt_id: string;
  /** Index of the rollout. */
  rollout_index: number;
  /** How it ended. */
  status: TrajectoryStatus;
  /** Combined reward. */
  reward: null | number;
  /** Whether it is trained on. */
  selected: boolean;
  /** Why not selected. */
  reason: null | string;
  /** Advantage, when selected. */
  advantage: null | number;
  /** Trajectory body. */
  body: null | ObjectRef;
  /** Sizes. */
  counts: TrajectoryCounts;
  /** Oldest version. */
  policy_version_min: null | number;
  /** Newest version. */
  policy_version_max: null | number;
}
/** {@link GroupMember} as a producer may give it: fields with a default may be left out. */
export interface GroupMemberDraft {
  trajectory_id: string;
  attempt_id: string;
  rollout_index: number;
  status: TrajectoryStatus;
  reward?: null | number | undefined;
  selected: boolean;
  reason?: null | string | undefined;
  advantage?: null | number | undefined;
  body?: null | ObjectRefDraft | undefined;
  counts: TrajectoryCountsDraft;
  policy_version_min?: null | number | undefined;
  policy_version_max?: null | number | undefined;
}

/** A task is admitted: form a group for it. */
export interface GroupOpened {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Group: one admission of a task, `<run>/<task>/<admission>`. */
  group_id: string;
  /** How many groups of this task were opened before. */
  admission: number;
  /** The task. */
  task: TaskSpec;
  /** Frozen configuration. */
  spec: GroupSpec;
  /** Newest counting policy version when opened. */
  policy_version: number;
}
/** {@link GroupOpened} as a producer may give it: fields with a default may be left out. */
export interface GroupOpenedDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  group_id: string;
  admission: number;
  task: TaskSpecDraft;
  spec: GroupSpecDraft;
  policy_version: number;
}

/** What became of the group. */
export type GroupOutcome = 'UNKNOWN' | 'ADMITTED' | 'FILTERED' | 'FAILED' | 'CANCELLED' | 'DELIVERED';

/** What a group was opened with; frozen for its life. */
export interface GroupSpec {
  /** What the trajectories are for. */
  purpose: RunPurpose;
  /** Harnesses by weight. */
  harnesses: HarnessConfig[];
  /** Policy and sampling. */
  policy: PolicyConfig;
  /** Group formation. */
  group: GroupConfig;
  /** Advantage estimator. */
  estimator: string;
  /** Rollout budgets. */
  limits: RolloutLimits;
  /** Scorers. */
  scorers: ScorerConfig[];
  /** Seed of the group, derived from the run's. */
  seed: number;
}
/** {@link GroupSpec} as a producer may give it: fields with a default may be left out. */
export interface GroupSpecDraft {
  purpose: RunPurpose;
  harnesses: HarnessConfigDraft[];
  policy: PolicyConfigDraft;
  group: GroupConfigDraft;
  estimator?: string | undefined;
  limits: RolloutLimitsDraft;
  scorers: ScorerConfigDraft[];
  seed: number;
}

/** A harness and how to run it. */
export interface HarnessConfig {
  /** Harness name in the registry, e.g. `mini`, `oracle`, `codex`. */
  name: string;
  /** Pinned harness version; null takes the registry's. */
  version: null | string;
  /** Harness options as canonical JSON. */
  config_json: string;
  /** Share of rollouts that use it when a run mixes harnesses. */
  weight: number;
}
/** {@link HarnessConfig} as a producer may give it: fields with a default may be left out. */
export interface HarnessConfigDraft {
  name: string;
  version?: null | string | undefined;
  config_json?: string | undefined;
  weight?: number | undefined;
}

/** Journal of one processor transaction: what was applied, in order, and the time used. */
export interface JournalEntry {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Processor name. */
  processor: string;
  /** Input partition. */
  partition: number;
  /** Counts up within the partition. */
  transaction_no: number;
  /** The time every decision of this transaction used; never goes back within a partition. */
  now: number;
  /** In order. */
  applied: AppliedRange[];
  /** Whether timers were judged after the records. */
  ticked: boolean;
  /** Timer keys that fired, as a JSON array. */
  timers_json: string;
  /** SHA-256 over outputs and state changes, hex. */
  effects_digest: string;
}
/** {@link JournalEntry} as a producer may give it: fields with a default may be left out. */
export interface JournalEntryDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  processor: string;
  partition: number;
  transaction_no: number;
  now: number;
  applied: AppliedRangeDraft[];
  ticked: boolean;
  timers_json?: string | undefined;
  effects_digest: string;
}

/** A learner opens a session, from a checkpoint it holds. */
export interface LearnerJoined {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Chosen by the gateway; answered in run.reported. */
  command_id: string;
  /** Learner instance. */
  learner_id: string;
  /** Checkpoint it resumes from; null starts over before the first batch. */
  checkpoint: null | string;
}
/** {@link LearnerJoined} as a producer may give it: fields with a default may be left out. */
export interface LearnerJoinedDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  command_id: string;
  learner_id: string;
  checkpoint?: null | string | undefined;
}

/** A message in the tree. */
export interface MessageNode {
  /** Index in this array. */
  node_no: number;
  /** Index of the parent; -1 at a root. */
  parent: number;
  /** `system`, `user`, `assistant`, `tool`, ... */
  role: string;
  /** The message as the harness sent it or the policy gave it, JSON. */
  message_json: string;
  /** Whether the policy sampled it. */
  sampled: boolean;
  /** Call that sampled it; -1 otherwise. */
  call_no: number;
  /** When it was first seen. */
  timestamp: number;
}
/** {@link MessageNode} as a producer may give it: fields with a default may be left out. */
export interface MessageNodeDraft {
  node_no: number;
  parent: number;
  role: string;
  message_json: string;
  sampled: boolean;
  call_no?: number | undefined;
  timestamp: number;
}

/** One model call of an attempt, acknowledged before the harness is answered; or the mark of an adoption. */
export interface ModelCalled {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Group: one admission of a task, `<run>/<task>/<admission>`. */
  group_id: string;
  /** Attempt: one try of a rollout, `<rollout>/a<n>`. */
  attempt_id: string;
  /** Epoch of the claim that served it. */
  epoch: number;
  /** Call or adoption mark. */
  kind: ModelRecordKind;
  /** Order in the attempt, from 0. */
  call_no: number;
  /** `<attempt>/c<no>`. */
  call_id: string;
  /** Call whose answer this one's prompt extends; null at a root. */
  parent_call_id: null | string;
  /** The agent's idempotency key of the call. */
  agent_key: null | string;
  /** SHA-256 of the canonical request body, hex. */
  request_digest: string;
  /** `openai.chat`, `openai.responses` or `anthropic.messages`. */
  wire: string;
  /** Whether the harness asked for a stream. */
  streamed: boolean;
  /** Model name the harness asked for. */
  model: string;
  /** Sampling fields sent upstream, as JSON. */
  sampling_json: string;
  /** Messages of the request that the parent call already held. */
  messages_from: number;
  /** Messages from there on, as JSON; null when in body. */
  messages_json: null | string;
  /** Tools, as JSON, when they differ from the parent's. */
  tools_json: null | string;
  /** The answer's message and finish reason, as JSON; null when in body. */
  response_json: null | string;
  /** Prompt tokens. */
  prompt_token_count: number;
  /** Prompt token ids after the parent's prompt and answer (all of them at a root). */
  prompt_suffix_ids: Int32Array;
  /** True when the prompt's ids do not extend the parent's; then prompt_suffix_ids is the whole prompt. */
  prompt_realigned: boolean;
  /** Sampled token ids. */
  output_ids: Int32Array;
  /** Log-probs of the sampled tokens, natural logarithm, same length. */
  output_logprobs: Float32Array;
  /** Policy versions of the sampled tokens. */
  version_runs: VersionRun[];
  /** The whole record by claim check when larger than 256 KiB. */
  body: null | ObjectRef;
  /** `stop`, `tool_calls`, `length`, ... */
  finish_reason: string;
  /** Status answered to the harness. */
  http_status: number;
  /** Upstream tries absorbed. */
  upstream_attempts: number;
  /** Upstream time, milliseconds. */
  latency_ms: number;
  /** Why the call failed. */
  failure: null | Failure;
}
/** {@link ModelCalled} as a producer may give it: fields with a default may be left out. */
export interface ModelCalledDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  group_id: string;
  attempt_id: string;
  epoch: number;
  kind: ModelRecordKind;
  call_no: number;
  call_id: string;
  parent_call_id?: null | string | undefined;
  agent_key?: null | string | undefined;
  request_digest?: string | undefined;
  wire?: string | undefined;
  streamed?: boolean | undefined;
  model?: string | undefined;
  sampling_json?: string | undefined;
  messages_from?: number | undefined;
  messages_json?: null | string | undefined;
  tools_json?: null | string | undefined;
  response_json?: null | string | undefined;
  prompt_token_count?: number | undefined;
  prompt_suffix_ids: Int32Array;
  prompt_realigned?: boolean | undefined;
  output_ids: Int32Array;
  output_logprobs: Float32Array;
  version_runs: VersionRunDraft[];
  body?: null | ObjectRefDraft | undefined;
  finish_reason?: string | undefined;
  http_status?: number | undefined;
  upstream_attempts?: number | undefined;
  latency_ms?: number | undefined;
  failure?: null | FailureDraft | undefined;
}

/** Call or adoption mark. */
export type ModelRecordKind = 'UNKNOWN' | 'CALL' | 'ADOPTED';

/** A claim check: where a body lies in the object store. */
export interface ObjectRef {
  /** Object key; its last part is the SHA-256 of the stored bytes. */
  key: string;
  /** SHA-256 of the stored bytes, hex. */
  sha256: string;
  /** Stored size in bytes. */
  bytes: number;
  /** SHA-256 of the uncompressed content, hex. */
  content_digest: string;
  /** Uncompressed size in bytes. */
  content_bytes: number;
  /** What the content is, e.g. `application/avro` or `application/x-tar`. */
  media_type: string;
  /** `zstd` or `identity`. */
  encoding: string;
}
/** {@link ObjectRef} as a producer may give it: fields with a default may be left out. */
export interface ObjectRefDraft {
  key: string;
  sha256: string;
  bytes: number;
  content_digest: string;
  content_bytes: number;
  media_type: string;
  encoding: string;
}

/** The policy under training and how it is sampled. */
export interface PolicyConfig {
  /** Model name sent upstream. */
  model: string;
  /** Base URLs of the policy servers (OpenAI-compatible, ending in /v1). */
  endpoints: string[];
  /** Upstream adapter. */
  adapter: UpstreamAdapter;
  /** Sampling temperature; 1 keeps log-probs on-policy. */
  temperature: number;
  /** Nucleus mass. */
  top_p: number;
  /** Most tokens a single call may sample. */
  max_tokens: number;
  /** Deadline of one upstream call, milliseconds. */
  timeout_ms: number;
  /** More request fields for the server, as JSON. */
  extra_json: string;
}
/** {@link PolicyConfig} as a producer may give it: fields with a default may be left out. */
export interface PolicyConfigDraft {
  model: string;
  endpoints: string[];
  adapter: UpstreamAdapter;
  temperature?: number | undefined;
  top_p?: number | undefined;
  max_tokens?: number | undefined;
  timeout_ms?: number | undefined;
  extra_json?: string | undefined;
}

/** Where the weight update is. */
export type PolicyPhase = 'UNKNOWN' | 'PAUSING' | 'READY';

/** A policy version is about to be served, or is. */
export interface PolicyPublished {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Answered in run.reported. */
  command_id: string;
  /** Session that publishes. */
  learner_epoch: null | number;
  /** PAUSING: hold new calls. READY: served. */
  phase: PolicyPhase;
  /** The version, increasing. */
  version: number;
  /** Batches it was trained on; counts once they are acknowledged. */
  after_batch: number;
  /** Servers that serve it; empty keeps the run's. */
  endpoints: string[];
  /** Its checkpoint. */
  checkpoint: null | string;
}
/** {@link PolicyPublished} as a producer may give it: fields with a default may be left out. */
export interface PolicyPublishedDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  command_id: string;
  learner_epoch?: null | number | undefined;
  phase: PolicyPhase;
  version: number;
  after_batch: number;
  endpoints: string[];
  checkpoint?: null | string | undefined;
}

/** A ranked trajectory. */
export interface RankedTrajectory {
  /** Trajectory. */
  trajectory_id: string;
  /** 1 is best. */
  rank: number;
  /** Predicted probability of passing. */
  value: number;
  /** What the verifier said. */
  passed: null | boolean;
}
/** {@link RankedTrajectory} as a producer may give it: fields with a default may be left out. */
export interface RankedTrajectoryDraft {
  trajectory_id: string;
  rank: number;
  value: number;
  passed?: null | boolean | undefined;
}

/** Best of N: the order of a group's trajectories by the value model. */
export interface RankingDecided {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Group: one admission of a task, `<run>/<task>/<admission>`. */
  group_id: string;
  /** Task, unique in its run. */
  task_id: string;
  /** Value model version; 0 before one is fitted. */
  model_version: number;
  /** Digest of the model object, hex. */
  model_digest: string;
  /** Best first. */
  ranked: RankedTrajectory[];
  /** The choice. */
  best_trajectory_id: null | string;
  /** Whether the choice passed. */
  best_passed: null | boolean;
}
/** {@link RankingDecided} as a producer may give it: fields with a default may be left out. */
export interface RankingDecidedDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  group_id: string;
  task_id: string;
  model_version: number;
  model_digest: string;
  ranked: RankedTrajectoryDraft[];
  best_trajectory_id?: null | string | undefined;
  best_passed?: null | boolean | undefined;
}

/** Start anew or adopt a running one. */
export type RequestKind = 'UNKNOWN' | 'START' | 'ADOPT';

/** One scorer's verdict on one trajectory. */
export interface Reward {
  /** Scorer name. */
  scorer: string;
  /** Scorer version. */
  scorer_version: string;
  /** Whether it can be trusted. */
  status: RewardStatus;
  /** Score, normally in [0, 1]; null when not scored. */
  score: null | number;
  /** Weight in the combined reward. */
  weight: number;
  /** Whether the decision waited for it. */
  required: boolean;
  /** Why there is no score. */
  failure: null | Failure;
  /** Scorer's details as JSON (tests, rubric values, flags), at most 16 KiB. */
  details_json: string;
}
/** {@link Reward} as a producer may give it: fields with a default may be left out. */
export interface RewardDraft {
  scorer: string;
  scorer_version: string;
  status: RewardStatus;
  score?: null | number | undefined;
  weight?: number | undefined;
  required?: boolean | undefined;
  failure?: null | FailureDraft | undefined;
  details_json?: string | undefined;
}

/** A scorer's verdict. */
export interface RewardReported {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Group: one admission of a task, `<run>/<task>/<admission>`. */
  group_id: string;
  /** Attempt: one try of a rollout, `<rollout>/a<n>`. */
  attempt_id: string;
  /** Trajectory of the attempt, `<attempt>/t`. */
  trajectory_id: string;
  /** The scoring request answered. */
  work_id: string;
  /** Worker instance. */
  worker_id: string;
  /** The claim. */
  claim_id: string;
  /** Granted epoch; 0 for verdicts outside a claim (re-scoring, dead letters). */
  epoch: number;
  /** The verdict. */
  reward: Reward;
  /** Time to score, milliseconds. */
  latency_ms: number;
  /** Verifier output. */
  evidence: null | ObjectRef;
}
/** {@link RewardReported} as a producer may give it: fields with a default may be left out. */
export interface RewardReportedDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  group_id: string;
  attempt_id: string;
  trajectory_id: string;
  work_id: string;
  worker_id: string;
  claim_id?: string | undefined;
  epoch?: number | undefined;
  reward: RewardDraft;
  latency_ms?: number | undefined;
  evidence?: null | ObjectRefDraft | undefined;
}

/** Whether a score can be trusted; only OK and GATED carry a score. */
export type RewardStatus = 'UNKNOWN' | 'OK' | 'GATED' | 'INFRA_ERROR' | 'TIMEOUT' | 'INVALID' | 'SKIPPED';

/** Heartbeat of a worker for one group partition; renews the leases of the work it lists. */
export interface RolloutAlive {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Worker instance. */
  worker_id: string;
  /** Group partition the listed work belongs to. */
  partition: number;
  /** Work in hand. */
  work: AliveWork[];
}
/** {@link RolloutAlive} as a producer may give it: fields with a default may be left out. */
export interface RolloutAliveDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  worker_id: string;
  partition: number;
  work: AliveWorkDraft[];
}

/** One per attempt: the class it ended in. */
export interface RolloutEnded {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Group: one admission of a task, `<run>/<task>/<admission>`. */
  group_id: string;
  /** Rollout: a slot in the group, `<group>/r<index>`. */
  rollout_id: string;
  /** Attempt: one try of a rollout, `<rollout>/a<n>`. */
  attempt_id: string;
  /** The class. */
  outcome: AttemptOutcome;
  /** Reason code of CANCELLED, FILTERED and REPLACED. */
  reason: null | string;
  /** Why it failed. */
  failure: null | Failure;
  /** Combined reward, when scored. */
  reward: null | number;
  /** Its trajectory, when one was recorded. */
  trajectory_id: null | string;
}
/** {@link RolloutEnded} as a producer may give it: fields with a default may be left out. */
export interface RolloutEndedDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  group_id: string;
  rollout_id: string;
  attempt_id: string;
  outcome: AttemptOutcome;
  reason?: null | string | undefined;
  failure?: null | FailureDraft | undefined;
  reward?: null | number | undefined;
  trajectory_id?: null | string | undefined;
}

/** Budgets of one rollout, relative to the harness start. */
export interface RolloutLimits {
  /** Wall-clock budget of the harness, milliseconds. */
  wall_ms: number;
  /** Most model calls. */
  model_calls: number;
  /** Most sampled tokens. */
  sampled_tokens: number;
  /** Longest prompt plus answer in tokens. */
  context_tokens: number;
  /** Time to create the sandbox and unpack the task, milliseconds. */
  setup_ms: number;
}
/** {@link RolloutLimits} as a producer may give it: fields with a default may be left out. */
export interface RolloutLimitsDraft {
  wall_ms: number;
  model_calls: number;
  sampled_tokens: number;
  context_tokens?: number | undefined;
  setup_ms?: number | undefined;
}

/** A worker's word on work it holds or wants: claimed, phase, adopted, released. */
export interface RolloutReported {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Group: one admission of a task, `<run>/<task>/<admission>`. */
  group_id: string;
  /** Attempt: one try of a rollout, `<rollout>/a<n>`. */
  attempt_id: string;
  /** ROLLOUT, or SCORING for a scorer's claim. */
  work: WorkKind;
  /** The attempt id, or the scoring request's id. */
  work_id: string;
  /** What is reported. */
  kind: WorkReport;
  /** Worker instance. */
  worker_id: string;
  /** Derived from worker and request; names this claim. */
  claim_id: string;
  /** Granted epoch; 0 while claiming. */
  epoch: number;
  /** PHASE: `sandbox`, `harness`, `snapshot`, `scoring`. */
  phase: null | string;
  /** Sandbox in use. */
  sandbox_id: null | string;
  /** RELEASED: why, e.g. `DRAINING`. */
  reason: null | string;
  /** First offset of the attempt in its model.called partition, once known. */
  model_log_from: null | number;
}
/** {@link RolloutReported} as a producer may give it: fields with a default may be left out. */
export interface RolloutReportedDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  group_id: string;
  attempt_id: string;
  work: WorkKind;
  work_id: string;
  kind: WorkReport;
  worker_id: string;
  claim_id: string;
  epoch?: number | undefined;
  phase?: null | string | undefined;
  sandbox_id?: null | string | undefined;
  reason?: null | string | undefined;
  model_log_from?: null | number | undefined;
}

/** One attempt to start, or to adopt. */
export interface RolloutRequested {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Group: one admission of a task, `<run>/<task>/<admission>`. */
  group_id: string;
  /** Rollout: a slot in the group, `<group>/r<index>`. */
  rollout_id: string;
  /** Attempt: one try of a rollout, `<rollout>/a<n>`. */
  attempt_id: string;
  /** Number of the attempt in its rollout, from 0. */
  attempt_no: number;
  /** Index of the rollout in its group, from 0. */
  rollout_index: number;
  /** Start anew or adopt. */
  kind: RequestKind;
  /** Epoch the granted claim will have at least. */
  epoch: number;
  /** What the trajectory is for. */
  purpose: RunPurpose;
  /** The task. */
  task: TaskSpec;
  /** The harness chosen for this rollout. */
  harness: HarnessConfig;
  /** Policy and sampling. */
  policy: PolicyConfig;
  /** Budgets. */
  limits: RolloutLimits;
  /** Newest counting policy version when requested. */
  policy_version: number;
  /** Seed of this rollout. */
  seed: number;
  /** After this the attempt is no longer wanted. */
  deadline_at: number;
  /** ADOPT: the sandbox to re-attach to. */
  sandbox_id: null | string;
  /** ADOPT: first offset of the attempt in its model.called partition. */
  model_log_from: null | number;
}
/** {@link RolloutRequested} as a producer may give it: fields with a default may be left out. */
export interface RolloutRequestedDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  group_id: string;
  rollout_id: string;
  attempt_id: string;
  attempt_no: number;
  rollout_index: number;
  kind: RequestKind;
  epoch?: number | undefined;
  purpose: RunPurpose;
  task: TaskSpecDraft;
  harness: HarnessConfigDraft;
  policy: PolicyConfigDraft;
  limits: RolloutLimitsDraft;
  policy_version: number;
  seed: number;
  deadline_at: number;
  sandbox_id?: null | string | undefined;
  model_log_from?: null | number | undefined;
}

/** The group's answer to a claim, or to a report about work it does not hold. Every worker instance reads every partition. */
export interface RolloutRuled {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Group: one admission of a task, `<run>/<task>/<admission>`. */
  group_id: string;
  /** Attempt: one try of a rollout, `<rollout>/a<n>`. */
  attempt_id: string;
  /** Kind of work. */
  work: WorkKind;
  /** Attempt or scoring id. */
  work_id: string;
  /** The ruling. */
  verdict: RulingVerdict;
  /** Worker it is for; null for whoever holds the work. */
  worker_id: null | string;
  /** The claim it answers. */
  claim_id: null | string;
  /** GRANTED: the epoch to carry from now on. CANCELLED: the epoch cancelled. */
  epoch: number;
  /** Reason code, e.g. `HELD`, `ENDED`, `GROUP_FULL`, `GROUP_INFEASIBLE`, `LEASE_EXPIRED`, `UNKNOWN_WORK`. */
  reason: null | string;
  /** GRANTED of an adoption: where the attempt's model log starts. */
  model_log_from: null | number;
}
/** {@link RolloutRuled} as a producer may give it: fields with a default may be left out. */
export interface RolloutRuledDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  group_id: string;
  attempt_id: string;
  work: WorkKind;
  work_id: string;
  verdict: RulingVerdict;
  worker_id?: null | string | undefined;
  claim_id?: null | string | undefined;
  epoch?: number | undefined;
  reason?: null | string | undefined;
  model_log_from?: null | number | undefined;
}

/** Where the time went, milliseconds. */
export interface RolloutTiming {
  /** Requested until claimed. */
  queue_ms: number;
  /** Sandbox creation and task set-up. */
  sandbox_ms: number;
  /** Harness run. */
  harness_ms: number;
  /** Waiting for the policy, within the harness run. */
  model_ms: number;
  /** Workspace snapshot. */
  snapshot_ms: number;
}
/** {@link RolloutTiming} as a producer may give it: fields with a default may be left out. */
export interface RolloutTimingDraft {
  queue_ms?: number | undefined;
  sandbox_ms?: number | undefined;
  harness_ms?: number | undefined;
  model_ms?: number | undefined;
  snapshot_ms?: number | undefined;
}

/** The ruling. */
export type RulingVerdict = 'UNKNOWN' | 'GRANTED' | 'DENIED' | 'CANCELLED';

/** What to do. */
export type RunCommand = 'UNKNOWN' | 'PAUSE' | 'RESUME' | 'CANCEL' | 'CLOSE_TASKS' | 'CHANGE';

/** A command to a run; its verdict comes in run.reported under the same command_id. */
export interface RunCommanded {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Chosen by the sender; equal ids are the same command. */
  command_id: string;
  /** What to do. */
  command: RunCommand;
  /** Why, shown to users. */
  reason: string;
  /** For CHANGE: the altered fields as JSON (`target`, `max_attempts_in_flight`, `max_staleness`). */
  change_json: null | string;
}
/** {@link RunCommanded} as a producer may give it: fields with a default may be left out. */
export interface RunCommandedDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  command_id: string;
  command: RunCommand;
  reason?: string | undefined;
  change_json?: null | string | undefined;
}

/** Everything a run is configured with; frozen at submission but for what `change` may alter. */
export interface RunConfig {
  /** TRAIN forms batches; EVAL and DISTILL deliver scored trajectories. */
  purpose: RunPurpose;
  /** Harnesses, chosen per rollout by weight. */
  harnesses: HarnessConfig[];
  /** Policy and sampling. */
  policy: PolicyConfig;
  /** Group formation. */
  group: GroupConfig;
  /** Advantage estimator, e.g. `grpo`. */
  estimator: string;
  /** Batches. */
  batch: BatchConfig;
  /** Rollout budgets. */
  limits: RolloutLimits;
  /** Scorers. */
  scorers: ScorerConfig[];
  /** Circuit breaker. */
  breaker: BreakerConfig;
  /** End of the run. */
  target: RunTarget;
  /** Most attempts open at once in the whole run. */
  max_attempts_in_flight: number;
  /** Admit the task list again, epoch after epoch, until the target is met. */
  repeat_tasks: boolean;
  /** End when every submitted task is rolled out; false waits for `close tasks`. */
  close_when_done: boolean;
  /** Root of all derived seeds. */
  seed: number;
  /** Free labels as JSON. */
  labels_json: string;
}
/** {@link RunConfig} as a producer may give it: fields with a default may be left out. */
export interface RunConfigDraft {
  purpose: RunPurpose;
  harnesses: HarnessConfigDraft[];
  policy: PolicyConfigDraft;
  group: GroupConfigDraft;
  estimator?: string | undefined;
  batch: BatchConfigDraft;
  limits: RolloutLimitsDraft;
  scorers: ScorerConfigDraft[];
  breaker: BreakerConfigDraft;
  target: RunTargetDraft;
  max_attempts_in_flight?: number | undefined;
  repeat_tasks?: boolean | undefined;
  close_when_done?: boolean | undefined;
  seed?: number | undefined;
  labels_json?: string | undefined;
}

/** Counters of a run. */
export interface RunProgress {
  /** Tasks submitted. */
  tasks: number;
  /** Groups open. */
  open_groups: number;
  /** Groups decided. */
  groups_decided: number;
  /** Groups filtered. */
  groups_filtered: number;
  /** Attempts ended, all classes. */
  attempts_ended: number;
  /** Attempts ended by an infrastructure failure. */
  attempts_failed: number;
  /** Trajectories accepted into batches or waiting for one. */
  accepted: number;
  /** Batches offered. */
  batches_offered: number;
  /** Batches trained. */
  batches_trained: number;
  /** Pass rate over the window. */
  pass_rate: null | number;
}
/** {@link RunProgress} as a producer may give it: fields with a default may be left out. */
export interface RunProgressDraft {
  tasks: number;
  open_groups: number;
  groups_decided: number;
  groups_filtered: number;
  attempts_ended: number;
  attempts_failed: number;
  accepted: number;
  batches_offered: number;
  batches_trained: number;
  pass_rate?: null | number | undefined;
}

/** What the trajectories are for. */
export type RunPurpose = 'UNKNOWN' | 'TRAIN' | 'EVAL' | 'DISTILL';

/** What is reported. */
export type RunReportKind =
  'UNKNOWN' | 'STATE' | 'VERDICT' | 'WAITING' | 'BREAKER' | 'LEARNER' | 'TRAINED' | 'POLICY' | 'TASK' | 'ENDED';

/** What a run did or decided: state changes, verdicts of commands, what it waits for, its end. */
export interface RunReported {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** What is reported. */
  kind: RunReportKind;
  /** State after this event. */
  state: RunState;
  /** The command, join, acknowledgement or publication this answers. */
  command_id: null | string;
  /** Verdict: whether the command was carried out. */
  accepted: null | boolean;
  /** Stable code, e.g. `STALE_LEARNER`, `RUN_DIFFERS`. */
  code: null | string;
  /** For people. */
  message: string;
  /** What admission waits for, e.g. `learner`, `policy`, `rollouts`, `tasks`. */
  waiting_for: null | string;
  /** Current learner session. */
  learner_epoch: null | number;
  /** For LEARNER: the first batch that session is offered. */
  next_seq: null | number;
  /** Last batch contained in a durable checkpoint. */
  trained_seq: null | number;
  /** Newest policy version that counts. */
  policy_version: null | number;
  /** Counters at this point. */
  progress: null | RunProgress;
}
/** {@link RunReported} as a producer may give it: fields with a default may be left out. */
export interface RunReportedDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  kind: RunReportKind;
  state: RunState;
  command_id?: null | string | undefined;
  accepted?: null | boolean | undefined;
  code?: null | string | undefined;
  message?: string | undefined;
  waiting_for?: null | string | undefined;
  learner_epoch?: null | number | undefined;
  next_seq?: null | number | undefined;
  trained_seq?: null | number | undefined;
  policy_version?: null | number | undefined;
  progress?: null | RunProgressDraft | undefined;
}

/** State of a run. */
export type RunState = 'UNKNOWN' | 'ACTIVE' | 'PAUSED' | 'DRAINING' | 'COMPLETED' | 'CANCELLED' | 'FAILED' | 'REFUSED';

/** A run is asked for. The first with a run_id wins, an equal one is ignored, a different one is refused. */
export interface RunSubmitted {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** The run's configuration. */
  config: RunConfig;
  /** User or program that submitted it. */
  submitted_by: string;
}
/** {@link RunSubmitted} as a producer may give it: fields with a default may be left out. */
export interface RunSubmittedDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  config: RunConfigDraft;
  submitted_by: string;
}

/** When a run is finished; the first target met ends it. */
export interface RunTarget {
  /** Trained batches. */
  batches: null | number;
  /** Ended attempts that count (not replaced, not cancelled). */
  rollouts: null | number;
  /** Pass rate over the last `pass_rate_window` scored trajectories. */
  pass_rate: null | number;
  /** Scored trajectories in the pass-rate window. */
  pass_rate_window: number;
}
/** {@link RunTarget} as a producer may give it: fields with a default may be left out. */
export interface RunTargetDraft {
  batches?: null | number | undefined;
  rollouts?: null | number | undefined;
  pass_rate?: null | number | undefined;
  pass_rate_window?: number | undefined;
}

/** What happened. */
export type SandboxEvent = 'UNKNOWN' | 'CREATED' | 'READY' | 'COMMAND' | 'ENDED';

/** What happened to a sandbox. */
export interface SandboxReported {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Sandbox. */
  sandbox_id: string;
  /** What happened. */
  kind: SandboxEvent;
  /** Owner, e.g. an attempt id. */
  owner: null | string;
  /** Image asked for. */
  image: string;
  /** Isolation level, e.g. `bubblewrap`. */
  isolation: string;
  /** COMMAND: the job. */
  job_id: null | string;
  /** COMMAND: SHA-256 of the command, hex. */
  command_digest: null | string;
  /** COMMAND: exit code. */
  exit_code: null | number;
  /** How long it took, milliseconds. */
  duration_ms: null | number;
  /** Taxonomy of an abnormal end. */
  failure: null | Failure;
  /** For people. */
  message: string;
}
/** {@link SandboxReported} as a producer may give it: fields with a default may be left out. */
export interface SandboxReportedDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  sandbox_id: string;
  kind: SandboxEvent;
  owner?: null | string | undefined;
  image?: string | undefined;
  isolation?: string | undefined;
  job_id?: null | string | undefined;
  command_digest?: null | string | undefined;
  exit_code?: null | number | undefined;
  duration_ms?: null | number | undefined;
  failure?: null | FailureDraft | undefined;
  message?: string | undefined;
}

/** A scorer a run asks for. */
export interface ScorerConfig {
  /** Scorer name, e.g. `verifier`, `rubric`. */
  name: string;
  /** Scorer version; part of a reward's identity. */
  version: string;
  /** Whether a group's decision waits for it. */
  required: boolean;
  /** Weight in the combined reward. */
  weight: number;
  /** After this the group records null / SCORER_TIMEOUT, milliseconds. */
  deadline_ms: number;
  /** Scorer options as JSON. */
  config_json: string;
}
/** {@link ScorerConfig} as a producer may give it: fields with a default may be left out. */
export interface ScorerConfigDraft {
  name: string;
  version: string;
  required: boolean;
  weight?: number | undefined;
  deadline_ms: number;
  config_json?: string | undefined;
}

/** Score one trajectory with one scorer. */
export interface ScoringRequested {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Group: one admission of a task, `<run>/<task>/<admission>`. */
  group_id: string;
  /** Attempt: one try of a rollout, `<rollout>/a<n>`. */
  attempt_id: string;
  /** Trajectory of the attempt, `<attempt>/t`. */
  trajectory_id: string;
  /** `<trajectory>/<scorer>@<version>#<n>`: identity of this request. */
  work_id: string;
  /** Scorer name. */
  scorer: string;
  /** Scorer version. */
  scorer_version: string;
  /** Whether the decision waits for it. */
  required: boolean;
  /** Scorer options as JSON. */
  config_json: string;
  /** After this the group records null / SCORER_TIMEOUT. */
  deadline_at: number;
  /** The task. */
  task: TaskSpec;
  /** Workspace snapshot to score. */
  snapshot: null | ObjectRef;
  /** Trajectory body. */
  body: null | ObjectRef;
  /** How the trajectory ended. */
  stop_reason: string;
}
/** {@link ScoringRequested} as a producer may give it: fields with a default may be left out. */
export interface ScoringRequestedDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  group_id: string;
  attempt_id: string;
  trajectory_id: string;
  work_id: string;
  scorer: string;
  scorer_version: string;
  required: boolean;
  config_json?: string | undefined;
  deadline_at: number;
  task: TaskSpecDraft;
  snapshot?: null | ObjectRefDraft | undefined;
  body?: null | ObjectRefDraft | undefined;
  stop_reason?: string | undefined;
}

/** How the members were chosen. */
export type SelectionKind = 'UNKNOWN' | 'EXACT' | 'RELAXED' | 'BEST_EFFORT' | 'NONE';

/** One entry of a processor's state, or its input positions; the record's key is the entry's key, a null value deletes it. */
export interface StateEntry {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Entry kind, e.g. `head`, `attempt`, `position`, `barrier`. */
  kind: string;
  /** Version of the entry's own format. */
  state_version: number;
  /** The entry as canonical JSON, at most 64 KiB. */
  value_json: string;
}
/** {@link StateEntry} as a producer may give it: fields with a default may be left out. */
export interface StateEntryDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  kind: string;
  state_version: number;
  value_json: string;
}

/** A task as a group carries it. */
export interface TaskSpec {
  /** Task, unique in its run. */
  task_id: string;
  /** Task package. */
  package: ObjectRef;
  /** Name from task.toml. */
  name: string;
  /** Container image. */
  image: null | string;
  /** cpus, memory_mb, storage_mb as JSON. */
  resources_json: string;
  /** Agent budget, milliseconds. */
  agent_timeout_ms: null | number;
  /** Verifier budget, milliseconds. */
  verifier_timeout_ms: null | number;
}
/** {@link TaskSpec} as a producer may give it: fields with a default may be left out. */
export interface TaskSpecDraft {
  task_id: string;
  package: ObjectRefDraft;
  name?: string | undefined;
  image?: null | string | undefined;
  resources_json?: string | undefined;
  agent_timeout_ms?: null | number | undefined;
  verifier_timeout_ms?: null | number | undefined;
}

/** Roll this task out. */
export interface TaskSubmitted {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Task, unique in its run. */
  task_id: string;
  /** How many groups to admit for it; expanded at admission. */
  repeat: number;
  /** The task package: a tar of a Harbor task directory. */
  package: ObjectRef;
  /** Name from task.toml (`org/name`). */
  name: string;
  /** SHA-256 of instruction.md, hex. */
  instruction_digest: string;
  /** Container image, where the task names one. */
  image: null | string;
  /** cpus, memory_mb, storage_mb of task.toml as JSON. */
  resources_json: string;
  /** Agent budget of task.toml, milliseconds; the smaller of it and the run's wins. */
  agent_timeout_ms: null | number;
  /** Verifier budget of task.toml, milliseconds. */
  verifier_timeout_ms: null | number;
  /** Free metadata as JSON. */
  metadata_json: string;
}
/** {@link TaskSubmitted} as a producer may give it: fields with a default may be left out. */
export interface TaskSubmittedDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  task_id: string;
  repeat?: number | undefined;
  package: ObjectRefDraft;
  name?: string | undefined;
  instruction_digest?: string | undefined;
  image?: null | string | undefined;
  resources_json?: string | undefined;
  agent_timeout_ms?: null | number | undefined;
  verifier_timeout_ms?: null | number | undefined;
  metadata_json?: string | undefined;
}

/** One root-to-leaf path as a flat token sequence; every sampled token of the attempt is trainable in exactly one sample. */
export interface TrainSample {
  /** `<trajectory>/s<n>`. */
  sample_id: string;
  /** Leaf of the path. */
  leaf_node: number;
  /** All tokens, prompt and answers interleaved. */
  token_ids: Int32Array;
  /** Log-prob of each token where sampled, 0 elsewhere; same length as token_ids. */
  logprobs: Float32Array;
  /** Run lengths of the loss mask, alternating, beginning with a run of 0. */
  mask_runs: number[];
  /** Policy version of the masked-in tokens, in order. */
  version_runs: VersionRun[];
  /** Sampled tokens masked out because of drift. */
  realigned_tokens: number;
}
/** {@link TrainSample} as a producer may give it: fields with a default may be left out. */
export interface TrainSampleDraft {
  sample_id: string;
  leaf_node: number;
  token_ids: Int32Array;
  logprobs: Float32Array;
  mask_runs: number[];
  version_runs: VersionRunDraft[];
  realigned_tokens?: number | undefined;
}

/** What an attempt recorded: the message tree, every model call, and the training samples. Stored once, zstd-compressed, under its SHA-256. */
export interface TrajectoryBody {
  /** Trajectory. */
  trajectory_id: string;
  /** Attempt. */
  attempt_id: string;
  /** Task. */
  task_id: string;
  /** Harness name. */
  harness: string;
  /** Policy model. */
  model: string;
  /** The task's instruction. */
  instruction: string;
  /** Message tree. */
  nodes: MessageNode[];
  /** Model calls in order. */
  calls: BodyCall[];
  /** Training samples. */
  samples: TrainSample[];
  /** Tail of the harness's output, at most 64 KiB. */
  harness_log: string;
}
/** {@link TrajectoryBody} as a producer may give it: fields with a default may be left out. */
export interface TrajectoryBodyDraft {
  trajectory_id: string;
  attempt_id: string;
  task_id: string;
  harness: string;
  model: string;
  instruction: string;
  nodes: MessageNodeDraft[];
  calls: BodyCallDraft[];
  samples: TrainSampleDraft[];
  harness_log?: string | undefined;
}

/** Sizes of a trajectory. */
export interface TrajectoryCounts {
  /** Recorded model calls. */
  model_calls: number;
  /** Calls on the main path. */
  turns: number;
  /** Prompt tokens over all calls. */
  prompt_tokens: number;
  /** Tokens sampled by the policy. */
  sampled_tokens: number;
  /** Root-to-leaf samples in the body. */
  samples: number;
  /** Tool calls made by the policy. */
  tool_calls: number;
}
/** {@link TrajectoryCounts} as a producer may give it: fields with a default may be left out. */
export interface TrajectoryCountsDraft {
  model_calls: number;
  turns: number;
  prompt_tokens: number;
  sampled_tokens: number;
  samples: number;
  tool_calls?: number | undefined;
}

/** The one terminal record of a claim. */
export interface TrajectoryRecorded {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Group: one admission of a task, `<run>/<task>/<admission>`. */
  group_id: string;
  /** Rollout: a slot in the group, `<group>/r<index>`. */
  rollout_id: string;
  /** Attempt: one try of a rollout, `<rollout>/a<n>`. */
  attempt_id: string;
  /** Trajectory of the attempt, `<attempt>/t`. */
  trajectory_id: string;
  /** Worker instance. */
  worker_id: string;
  /** The claim. */
  claim_id: string;
  /** Granted epoch; 0 when the work never got a grant (dead-lettered). */
  epoch: number;
  /** How it ended. */
  status: TrajectoryStatus;
  /** Stable reason, e.g. `SUBMITTED`, `MODEL_CALLS`, `WALL_CLOCK`, `TOKENS`, `HARNESS_CRASH`, `CANCELLED`. */
  stop_reason: string;
  /** Set unless the harness ended by itself. */
  failure: null | Failure;
  /** Trajectory body (espalier.v1.TrajectoryBody); null when nothing was recorded. */
  body: null | ObjectRef;
  /** Workspace snapshot, a tar; null when none could be taken. */
  snapshot: null | ObjectRef;
  /** Sizes. */
  counts: TrajectoryCounts;
  /** Oldest version of a sampled token. */
  policy_version_min: null | number;
  /** Newest version of a sampled token. */
  policy_version_max: null | number;
  /** Where the time went. */
  timing: RolloutTiming;
  /** Harness that ran. */
  harness: HarnessConfig;
  /** Its exit code. */
  harness_exit_code: null | number;
  /** SHA-256 of harness name, version and options, hex. */
  config_hash: string;
  /** Sandbox used. */
  sandbox_id: null | string;
  /** Isolation level of the sandbox, e.g. `bubblewrap`. */
  isolation: null | string;
}
/** {@link TrajectoryRecorded} as a producer may give it: fields with a default may be left out. */
export interface TrajectoryRecordedDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  group_id: string;
  rollout_id: string;
  attempt_id: string;
  trajectory_id: string;
  worker_id: string;
  claim_id: string;
  epoch: number;
  status: TrajectoryStatus;
  stop_reason: string;
  failure?: null | FailureDraft | undefined;
  body?: null | ObjectRefDraft | undefined;
  snapshot?: null | ObjectRefDraft | undefined;
  counts: TrajectoryCountsDraft;
  policy_version_min?: null | number | undefined;
  policy_version_max?: null | number | undefined;
  timing: RolloutTimingDraft;
  harness: HarnessConfigDraft;
  harness_exit_code?: null | number | undefined;
  config_hash?: string | undefined;
  sandbox_id?: null | string | undefined;
  isolation?: null | string | undefined;
}

/** A trajectory with its rewards, for downstream consumers. (trajectory_id, revision) is unique; revision 0 is what the group's decision used. */
export interface TrajectoryScored {
  /** Unique id of this event; derived from its inputs wherever a retry or a replay could produce it again. */
  event_id: string;
  /** When the fact happened at its producer (UTC). */
  occurred_at: number;
  /** The run this event belongs to; null only for events outside any run. */
  run_id: null | string;
  /** Who produced it: service name and instance. */
  producer: string;
  /** Equal keys mean the same request or fact, sent again. */
  idempotency_key: null | string;
  /** Group: one admission of a task, `<run>/<task>/<admission>`. */
  group_id: string;
  /** Rollout: a slot in the group, `<group>/r<index>`. */
  rollout_id: string;
  /** Attempt: one try of a rollout, `<rollout>/a<n>`. */
  attempt_id: string;
  /** Trajectory of the attempt, `<attempt>/t`. */
  trajectory_id: string;
  /** Task, unique in its run. */
  task_id: string;
  /** 0 first; later rewards raise it. */
  revision: number;
  /** Name from task.toml. */
  task_name: string;
  /** What it is for. */
  purpose: RunPurpose;
  /** Combined reward; null when a required scorer gave none. */
  reward: null | number;
  /** Whether the combined reward is positive. */
  passed: null | boolean;
  /** All verdicts so far. */
  rewards: Reward[];
  /** How it ended. */
  status: TrajectoryStatus;
  /** Stable reason. */
  stop_reason: string;
  /** Trajectory body. */
  body: null | ObjectRef;
  /** Workspace snapshot. */
  snapshot: null | ObjectRef;
  /** Sizes. */
  counts: TrajectoryCounts;
  /** Oldest version of a sampled token. */
  policy_version_min: null | number;
  /** Newest version. */
  policy_version_max: null | number;
  /** Policy model name. */
  model: string;
  /** Harness that ran. */
  harness: HarnessConfig;
  /** Harness configuration hash. */
  config_hash: string;
  /** Where the time went. */
  timing: RolloutTiming;
}
/** {@link TrajectoryScored} as a producer may give it: fields with a default may be left out. */
export interface TrajectoryScoredDraft {
  event_id: string;
  occurred_at: number;
  run_id?: null | string | undefined;
  producer: string;
  idempotency_key?: null | string | undefined;
  group_id: string;
  rollout_id: string;
  attempt_id: string;
  trajectory_id: string;
  task_id: string;
  revision: number;
  task_name?: string | undefined;
  purpose: RunPurpose;
  reward?: null | number | undefined;
  passed?: null | boolean | undefined;
  rewards: RewardDraft[];
  status: TrajectoryStatus;
  stop_reason: string;
  body?: null | ObjectRefDraft | undefined;
  snapshot?: null | ObjectRefDraft | undefined;
  counts: TrajectoryCountsDraft;
  policy_version_min?: null | number | undefined;
  policy_version_max?: null | number | undefined;
  model?: string | undefined;
  harness: HarnessConfigDraft;
  config_hash?: string | undefined;
  timing: RolloutTimingDraft;
}

/** How an attempt's trajectory ended. */
export type TrajectoryStatus = 'UNKNOWN' | 'COMPLETED' | 'TRUNCATED' | 'FAILED' | 'CANCELLED';

/** How the gateway speaks to the policy server. */
export type UpstreamAdapter = 'UNKNOWN' | 'CHAT' | 'TOKENS';

/** A run of consecutive tokens sampled by one policy version. */
export interface VersionRun {
  /** Policy version. */
  version: number;
  /** Number of tokens. */
  length: number;
}
/** {@link VersionRun} as a producer may give it: fields with a default may be left out. */
export interface VersionRunDraft {
  version: number;
  length: number;
}

/** Kind of claimed work. */
export type WorkKind = 'UNKNOWN' | 'ROLLOUT' | 'SCORING';

/** What is reported. */
export type WorkReport = 'UNKNOWN' | 'CLAIMED' | 'PHASE' | 'ADOPTED' | 'RELEASED';
/** {@link BatchOffered} without the envelope fields that its producer stamps. */
export type BatchOfferedBody = Omit<BatchOfferedDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link BatchTrained} without the envelope fields that its producer stamps. */
export type BatchTrainedBody = Omit<BatchTrainedDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link GroupCommanded} without the envelope fields that its producer stamps. */
export type GroupCommandedBody = Omit<GroupCommandedDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link GroupDecided} without the envelope fields that its producer stamps. */
export type GroupDecidedBody = Omit<GroupDecidedDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link GroupOpened} without the envelope fields that its producer stamps. */
export type GroupOpenedBody = Omit<GroupOpenedDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link JournalEntry} without the envelope fields that its producer stamps. */
export type JournalEntryBody = Omit<JournalEntryDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link LearnerJoined} without the envelope fields that its producer stamps. */
export type LearnerJoinedBody = Omit<LearnerJoinedDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link ModelCalled} without the envelope fields that its producer stamps. */
export type ModelCalledBody = Omit<ModelCalledDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link PolicyPublished} without the envelope fields that its producer stamps. */
export type PolicyPublishedBody = Omit<PolicyPublishedDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link RankingDecided} without the envelope fields that its producer stamps. */
export type RankingDecidedBody = Omit<RankingDecidedDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link RewardReported} without the envelope fields that its producer stamps. */
export type RewardReportedBody = Omit<RewardReportedDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link RolloutAlive} without the envelope fields that its producer stamps. */
export type RolloutAliveBody = Omit<RolloutAliveDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link RolloutEnded} without the envelope fields that its producer stamps. */
export type RolloutEndedBody = Omit<RolloutEndedDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link RolloutReported} without the envelope fields that its producer stamps. */
export type RolloutReportedBody = Omit<RolloutReportedDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link RolloutRequested} without the envelope fields that its producer stamps. */
export type RolloutRequestedBody = Omit<RolloutRequestedDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link RolloutRuled} without the envelope fields that its producer stamps. */
export type RolloutRuledBody = Omit<RolloutRuledDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link RunCommanded} without the envelope fields that its producer stamps. */
export type RunCommandedBody = Omit<RunCommandedDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link RunReported} without the envelope fields that its producer stamps. */
export type RunReportedBody = Omit<RunReportedDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link RunSubmitted} without the envelope fields that its producer stamps. */
export type RunSubmittedBody = Omit<RunSubmittedDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link SandboxReported} without the envelope fields that its producer stamps. */
export type SandboxReportedBody = Omit<SandboxReportedDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link ScoringRequested} without the envelope fields that its producer stamps. */
export type ScoringRequestedBody = Omit<ScoringRequestedDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link StateEntry} without the envelope fields that its producer stamps. */
export type StateEntryBody = Omit<StateEntryDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link TaskSubmitted} without the envelope fields that its producer stamps. */
export type TaskSubmittedBody = Omit<TaskSubmittedDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link TrajectoryRecorded} without the envelope fields that its producer stamps. */
export type TrajectoryRecordedBody = Omit<TrajectoryRecordedDraft, 'event_id' | 'occurred_at' | 'producer'>;
/** {@link TrajectoryScored} without the envelope fields that its producer stamps. */
export type TrajectoryScoredBody = Omit<TrajectoryScoredDraft, 'event_id' | 'occurred_at' | 'producer'>;
