import type { Finding } from './finding.ts';

/** The one class of an attempt (docs/conservation.md). */
export type AttemptClass =
  'open' | 'replaced' | 'cancelled' | 'failed' | 'spare' | 'filtered' | 'pooled' | 'offered' | 'trained' | 'delivered';

/** All classes, in the order of an attempt's life. */
export const ATTEMPT_CLASSES: readonly AttemptClass[] = [
  'open',
  'replaced',
  'cancelled',
  'failed',
  'spare',
  'filtered',
  'pooled',
  'offered',
  'trained',
  'delivered',
];

/** Attempts of one class. */
export interface ClassCount {
  readonly class: AttemptClass;
  readonly attempts: number;
  /** By failure class (replaced, failed) or reason (cancelled, filtered). */
  readonly by: Readonly<Record<string, number>>;
}

/** What an audit found. */
export interface AuditReport {
  readonly run_id: string;
  /** When the cut was taken, milliseconds UTC. */
  readonly taken_at: number;
  /** True when nothing is broken; warnings do not count. */
  readonly ok: boolean;
  /** Whether the run has reported its end below the cut. */
  readonly ended: boolean;
  /** Records looked at, of all runs. */
  readonly records: number;
  readonly attempts: number;
  /** The sum of all classes is `attempts`, or a finding says why not. */
  readonly classes: readonly ClassCount[];
  readonly groups: number;
  readonly batches: number;
  readonly trajectories: number;
  readonly bodies_checked: number;
  readonly findings: readonly Finding[];
}
