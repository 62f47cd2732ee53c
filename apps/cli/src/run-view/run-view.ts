import type { ConsumedEvent } from '@espalier/kafka';
import type { RunReported, RunState, TopicName } from '@espalier/contracts';
import type { RunSnapshot, ScoredPoint } from './run-snapshot.ts';

/** The topics that a view of a run is folded from. */
export const VIEW_TOPICS = [
  'run.submitted',
  'run.reported',
  'rollout.requested',
  'rollout.ended',
  'trajectory.scored',
  'group.opened',
  'group.decided',
  'batch.offered',
  'batch.trained',
  'policy.published',
] as const satisfies readonly TopicName[];

export type ViewTopic = (typeof VIEW_TOPICS)[number];

/** An event of one of {@link VIEW_TOPICS}. */
export type ViewEvent = { [T in ViewTopic]: Pick<ConsumedEvent<T>, 'topic' | 'value'> }[ViewTopic];

const DEFAULT_WINDOW = 96;
const count = (counts: Map<string, number>, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
const rateOf = (points: readonly ScoredPoint[]): number | null =>
  points.length === 0 ? null : points.filter(({ passed }) => passed).length / points.length;

/**
 * Folds the events of one run into what people want to see of it. Topics may come in any order between each other, and
 * every event more than once: what is counted is counted by its id. Reads no clock.
 */
export class RunView {
  readonly runId: string;
  readonly #requested = new Set<string>();
  readonly #ended = new Set<string>();
  readonly #outcomes = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  readonly #opened = new Set<string>();
  readonly #decided = new Set<string>();
  readonly #decisions = new Map<string, number>();
  readonly #scored = new Set<string>();
  /** In the order of their time once {@link points} was asked for: partitions are heard of at different speeds. */
  readonly #points: ScoredPoint[] = [];
  #sorted = true;
  readonly #reports = new Set<string>();
  #submitted: { purpose: string; target: RunSnapshot['target']; window: number } | undefined;
  #state: RunState = 'UNKNOWN';
  #waitingFor: string | null = null;
  #message = '';
  #offered = 0;
  #trained = 0;
  #version = 0;
  #rateAtEnd: number | null = null;
  #isEnded = false;
  #startedAt: number | null = null;
  #lastEventAt: number | null = null;

  constructor(runId: string) {
    this.runId = runId;
  }

  /** Takes one event; false when it is another run's or was known already. */
  apply(event: ViewEvent): boolean {
    if (event.value.run_id !== this.runId) return false;
    const at = event.value.occurred_at;
    this.#startedAt = Math.min(this.#startedAt ?? at, at);
    this.#lastEventAt = Math.max(this.#lastEventAt ?? at, at);
    return this.#take(event);
  }

  /** Scored trajectories in the order in which they were scored. */
  get points(): readonly ScoredPoint[] {
    if (!this.#sorted) this.#points.sort((left, right) => left.at - right.at);
    this.#sorted = true;
    return this.#points;
  }

  snapshot(): RunSnapshot {
    const window = this.#submitted?.window ?? DEFAULT_WINDOW;
    const target = this.#submitted?.target ?? { pass_rate: null, batches: null, rollouts: null };
    const points = this.points;
    const last = points.slice(-window);
    return {
      run_id: this.runId,
      state: this.#state,
      waiting_for: this.#waitingFor,
      message: this.#message,
      purpose: this.#submitted?.purpose ?? null,
      rollouts: {
        requested: this.#requested.size,
        running: this.#requested.size - this.#ended.size,
        ended: this.#ended.size,
        by_outcome: Object.fromEntries(this.#outcomes),
        by_failure: Object.fromEntries(this.#failures),
      },
      groups: {
        opened: this.#opened.size,
        forming: this.#opened.size - this.#decided.size,
        decided: this.#decided.size,
        by_outcome: Object.fromEntries(this.#decisions),
      },
      batches: { offered: this.#offered, trained: this.#trained },
      policy_version: this.#version,
      scored: points.length,
      passed: points.filter(({ passed }) => passed).length,
      pass_rate: rateOf(points),
      first_pass_rate: rateOf(points.slice(0, window)),
      last_pass_rate: rateOf(last),
      pass_rate_window: window,
      target,
      pass_rate_met:
        target.pass_rate !== null &&
        this.#rateAtEnd !== null &&
        this.#rateAtEnd >= target.pass_rate &&
        last.length >= window,
      started_at: this.#startedAt,
      last_event_at: this.#lastEventAt,
      ended: this.#isEnded,
    };
  }

  /** False when the event says nothing new. */
  #take(event: ViewEvent): boolean {
    switch (event.topic) {
      case 'run.submitted':
        return this.#takeSubmission(event.value.config);
      case 'run.reported':
        return this.#takeReport(event.value);
      case 'rollout.requested':
        return this.#add(this.#requested, event.value.attempt_id);
      case 'rollout.ended': {
        const { attempt_id, outcome, failure } = event.value;
        if (!this.#add(this.#ended, attempt_id)) return false;
        // So that every ended attempt is among the requested ones, whichever is heard of first.
        this.#requested.add(attempt_id);
        count(this.#outcomes, outcome);
        if (failure) count(this.#failures, failure.class);
        return true;
      }
      case 'trajectory.scored': {
        const { trajectory_id, revision, passed, occurred_at, policy_version_max } = event.value;
        if (revision !== 0 || passed === null || !this.#add(this.#scored, trajectory_id)) return false;
        this.#sorted &&= (this.#points.at(-1)?.at ?? 0) <= occurred_at;
        this.#points.push({ at: occurred_at, passed, policyVersion: policy_version_max });
        return true;
      }
      case 'group.opened':
        return this.#add(this.#opened, event.value.group_id);
      case 'group.decided': {
        if (!this.#add(this.#decided, event.value.group_id)) return false;
        this.#opened.add(event.value.group_id);
        count(this.#decisions, event.value.outcome);
        return true;
      }
      case 'batch.offered': {
        const before = this.#offered;
        this.#offered = Math.max(before, event.value.seq);
        return this.#offered > before;
      }
      case 'batch.trained':
        // What counts is the verdict, in run.reported; the acknowledgement alone may be a stale learner's.
        return false;
      case 'policy.published':
        return false;
      default:
        return event satisfies never;
    }
  }

  #takeSubmission(config: { purpose: string; target: RunSnapshot['target'] & { pass_rate_window: number } }): boolean {
    if (this.#submitted) return false;
    const { pass_rate, batches, rollouts, pass_rate_window: window } = config.target;
    this.#submitted = { purpose: config.purpose, target: { pass_rate, batches, rollouts }, window };
    return true;
  }

  #takeReport(report: RunReported): boolean {
    if (!this.#add(this.#reports, report.event_id)) return false;
    // A refused configuration or command leaves a run as it was.
    if (report.state !== 'REFUSED' || this.#state === 'UNKNOWN') this.#state = report.state;
    this.#waitingFor = report.waiting_for;
    // The end itself says no more than the state before it did, unless something went wrong.
    const tells =
      report.kind === 'STATE' || report.kind === 'BREAKER' || (report.kind === 'ENDED' && report.code !== null);
    if (tells && report.message !== '') this.#message = report.message;
    this.#trained = report.trained_seq ?? this.#trained;
    this.#version = Math.max(this.#version, report.policy_version ?? 0);
    this.#offered = Math.max(this.#offered, report.progress?.batches_offered ?? 0);
    if (report.state === 'DRAINING' && report.kind === 'STATE' && this.#rateAtEnd === null)
      this.#rateAtEnd = report.progress?.pass_rate ?? null;
    if (report.kind === 'ENDED') this.#isEnded = true;
    return true;
  }

  #add(set: Set<string>, id: string): boolean {
    if (set.has(id)) return false;
    set.add(id);
    return true;
  }
}
