import type { EventProducer } from '@espalier/kafka';
import type { ObjectStore } from '@espalier/objects';
import type { SandboxClient } from '@espalier/sandbox-client';

/** Structured logger; pino's fit. */
export interface Logger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Told how scorings end. */
export interface ScoringObserver {
  /** `code`: the failure's code, or empty. */
  scored(status: string, code: string, latencyMs: number): void;
}

/** What scorings work with. */
export interface ScoringPorts {
  readonly sandboxes: SandboxClient;
  readonly objects: ObjectStore;
  readonly producer: Pick<EventProducer, 'send'>;
  readonly observer: ScoringObserver;
  readonly logger: Logger;
}

/** Times of scorings, milliseconds. */
export interface ScoringTimings {
  /** The sandbox ends itself when it is not renewed for this long. */
  readonly leaseMs: number;
  readonly renewMs: number;
  /** Time to create a sandbox. */
  readonly setupMs: number;
  /** Kept free before the deadline for the verdict. */
  readonly marginMs: number;
}

export const DEFAULT_TIMINGS: ScoringTimings = { leaseMs: 60_000, renewMs: 15_000, setupMs: 300_000, marginMs: 5_000 };
