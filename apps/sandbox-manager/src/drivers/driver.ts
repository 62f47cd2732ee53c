import type { AgentAccess } from '@espalier/sandbox-client';

/** What was asked for when a sandbox was created: compared as a whole when its id comes again. */
export interface SandboxRequest {
  readonly image: string;
  readonly block_network: boolean;
  readonly cpu: string;
  readonly memory: string;
  /** Creation time-out as given, seconds. */
  readonly timeout: number;
  readonly task_package: { readonly key: string; readonly sha256: string } | null;
  readonly env: Readonly<Record<string, string>>;
  readonly payloads: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly run_id: string | null;
  readonly owner: string | null;
  readonly lease_seconds: number | null;
}

/** Why a sandbox is not, or no longer, there. */
export interface SandboxFailure {
  /** AREA_REASON. */
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
}

/** `creating` until its agent answers; `failed` is final. */
export type SandboxPhase = 'creating' | 'ready' | 'failed';

/** A sandbox in the driver's state of record. */
export interface DriverSandbox {
  readonly id: string;
  readonly request: SandboxRequest;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly phase: SandboxPhase;
  /** Progress, e.g. that an image is being built. */
  readonly message: string;
  readonly failure: SandboxFailure | null;
  readonly isolation: string;
}

/** Tells what happens to sandboxes; called in order for each of them. */
export interface DriverObserver {
  changed(sandbox: DriverSandbox): void;
}

/** Capacity for `GET /resources`. */
export interface NodeCapacity {
  readonly name: string;
  readonly cpu: number;
  readonly memoryBytes: number;
}

/** Lifecycle of sandboxes, and nothing else: what happens inside is the agent's. */
export interface SandboxDriver {
  readonly name: string;
  /** Takes up the state of record, re-attaches to what runs, resumes what was being created. */
  start(observer: DriverObserver): Promise<void>;
  /** Returns when the sandbox is recorded; readiness and failure come through the observer. */
  create(id: string, request: SandboxRequest): Promise<DriverSandbox>;
  get(id: string): DriverSandbox | undefined;
  list(): readonly DriverSandbox[];
  /** Ends it and removes all traces; resolves when they are gone. Unknown ids are ignored. */
  remove(id: string): Promise<void>;
  access(id: string): AgentAccess | undefined;
  /** Looks whether the sandbox's processes still live; reports a failure when they do not. */
  check(id: string): Promise<boolean>;
  /** Removes what belongs to no record. */
  sweep(): Promise<void>;
  nodes(): readonly NodeCapacity[];
  /** A line kept with the sandbox, in order, e.g. a job that was accepted. */
  appendJournal(id: string, line: string): void;
  readJournal(id: string): readonly string[];
  /** Lets go of the state of record; sandboxes live on. */
  stop(): Promise<void>;
}

/** Injection token of the {@link SandboxDriver}. */
export const SANDBOX_DRIVER = Symbol('SandboxDriver');

/** Thrown by drivers; `code` is what `sandbox.reported` says. */
export class SandboxDriverError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly retryable: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'SandboxDriverError';
  }
}
