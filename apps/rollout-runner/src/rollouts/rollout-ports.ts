import type { CapabilityKey, ChatUpstream, GatewayObserver } from '@espalier/gateway';
import type { EventProducer } from '@espalier/kafka';
import type { ObjectStore } from '@espalier/objects';
import type { SandboxClient } from '@espalier/sandbox-client';
import type { AttemptLog } from '../model-calls/attempt-log.ts';
import type { OpenStream } from '../model-calls/model-link.ts';

/** Structured logger; pino's fit. */
export interface Logger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Told how rollouts end. */
export interface RolloutObserver extends GatewayObserver {
  /** `code`: the failure's code, or empty. */
  ended(status: string, code: string): void;
}

/** What rollouts work with. */
export interface RolloutPorts {
  readonly sandboxes: SandboxClient;
  readonly openStream: OpenStream;
  readonly objects: ObjectStore;
  readonly producer: Pick<EventProducer, 'send'>;
  readonly log: AttemptLog;
  readonly upstream: ChatUpstream;
  readonly capabilities: CapabilityKey;
  readonly observer: RolloutObserver;
  readonly logger: Logger;
}

/** How rollouts keep time (milliseconds) and end. */
export interface RolloutTimings {
  /** The sandbox ends itself when it is not renewed for this long. */
  readonly leaseMs: number;
  /** Between two renewals. */
  readonly renewMs: number;
  /** How long a harness may take to end after its last budget refusal. */
  readonly graceMs: number;
  /** How long a broker that is away is waited for. */
  readonly patienceMs: number;
  /**
   * Whether a running harness is left in its sandbox when its claim is lost or given back, for an adopter to take over. Without
   * it the sandbox is ended, and only a new attempt helps.
   */
  readonly detach: boolean;
}

export const DEFAULT_TIMINGS: RolloutTimings = {
  leaseMs: 60_000,
  renewMs: 15_000,
  graceMs: 20_000,
  patienceMs: 120_000,
  detach: false,
};
