import type { TopicName } from '@espalier/contracts';

/**
 * `violation`: a promise is broken. `warning`: legitimate under at-least-once delivery, retention or a run that is still
 * under way, and worth knowing.
 */
export type Severity = 'violation' | 'warning';

/** Where a finding was made. */
export interface Place {
  readonly topic: TopicName;
  readonly partition: number;
  readonly offset: number;
}

/** Something that breaks the account of a run. */
export interface Finding {
  /** Stable code, AREA_REASON. */
  readonly code: string;
  readonly severity: Severity;
  /** What is wrong, naming ids and values. */
  readonly message: string;
  /** The record that shows it. */
  readonly place: Place;
  /** Since when, milliseconds UTC: the time of that record. */
  readonly since: number;
}

/** A record a finding can point at. */
export interface Evidence extends Place {
  readonly timestamp: number;
}

/** Collects findings; equal ones at one place are kept once. */
export class Findings {
  readonly #list: Finding[] = [];
  readonly #seen = new Set<string>();

  violation(code: string, at: Evidence, message: string): void {
    this.#add('violation', code, at, message);
  }

  warning(code: string, at: Evidence, message: string): void {
    this.#add('warning', code, at, message);
  }

  /** Violations first, then by time. */
  list(): Finding[] {
    const rank = (finding: Finding): number => (finding.severity === 'violation' ? 0 : 1);
    return [...this.#list].sort((a, b) => rank(a) - rank(b) || a.since - b.since);
  }

  #add(severity: Severity, code: string, at: Evidence, message: string): void {
    const { topic, partition, offset, timestamp } = at;
    const identity = `${code}|${topic}|${partition}|${offset}|${message}`;
    if (this.#seen.has(identity)) return;
    this.#seen.add(identity);
    this.#list.push({ code, severity, message, place: { topic, partition, offset }, since: timestamp });
  }
}
