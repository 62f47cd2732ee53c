import type { SandboxFailure } from '../drivers/driver.ts';

/** One fact for `sandbox.reported`. */
export interface SandboxFact {
  readonly kind: 'CREATED' | 'READY' | 'COMMAND' | 'ENDED';
  readonly sandboxId: string;
  readonly runId: string | null;
  readonly owner: string | null;
  readonly image: string;
  readonly isolation: string;
  readonly jobId?: string;
  /** SHA-256 of the command, hex: commands may hold secrets. */
  readonly commandDigest?: string;
  readonly exitCode?: number | null;
  readonly durationMs?: number;
  readonly failure?: SandboxFailure | null;
  readonly message?: string;
}

/** Where facts about sandboxes go. Reporting never fails and never waits: sandboxes work without their history. */
export interface SandboxEvents {
  report(fact: SandboxFact): void;
  close(): Promise<void>;
}

/** Injection token of {@link SandboxEvents}. */
export const SANDBOX_EVENTS = Symbol('SandboxEvents');

/** For managers without Kafka. */
export class SilentSandboxEvents implements SandboxEvents {
  report(): void {
    // Nobody listens.
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
