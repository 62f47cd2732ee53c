import type { RunState } from '@espalier/contracts';

/** A scored trajectory. */
export interface ScoredPoint {
  /** When it was scored, milliseconds UTC. */
  readonly at: number;
  readonly passed: boolean;
  /** Newest policy version that sampled it; null when none did. */
  readonly policyVersion: number | null;
}

/** What is to be known of a run at one moment. */
export interface RunSnapshot {
  readonly run_id: string;
  /** `UNKNOWN` until the plane has spoken of the run. */
  readonly state: RunState;
  readonly waiting_for: string | null;
  /** The last message of the run for people, e.g. why it was paused. */
  readonly message: string;
  readonly purpose: string | null;
  readonly rollouts: {
    readonly requested: number;
    /** Requested and not ended. */
    readonly running: number;
    readonly ended: number;
    /** Ended attempts by class (POOLED, SPARE, ...). */
    readonly by_outcome: Readonly<Record<string, number>>;
    /** Failed and replaced attempts by class of failure (INFRA, POLICY, ...). */
    readonly by_failure: Readonly<Record<string, number>>;
  };
  readonly groups: {
    readonly opened: number;
    readonly forming: number;
    readonly decided: number;
    readonly by_outcome: Readonly<Record<string, number>>;
  };
  readonly batches: { readonly offered: number; readonly trained: number };
  readonly policy_version: number;
  /** Trajectories with a reward. */
  readonly scored: number;
  readonly passed: number;
  /** Over all scored trajectories. */
  readonly pass_rate: number | null;
  /** Over the first and the last `pass_rate_window` of them. */
  readonly first_pass_rate: number | null;
  readonly last_pass_rate: number | null;
  readonly pass_rate_window: number;
  readonly target: {
    readonly pass_rate: number | null;
    readonly batches: number | null;
    readonly rollouts: number | null;
  };
  /** True when the run itself has found its pass-rate target met. */
  readonly pass_rate_met: boolean;
  /** Milliseconds UTC; null before the first event. */
  readonly started_at: number | null;
  readonly last_event_at: number | null;
  readonly ended: boolean;
}
