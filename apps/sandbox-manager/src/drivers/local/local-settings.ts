/** What the local driver is told; see config.ts for the settings behind it. */
export interface LocalDriverSettings {
  readonly stateDir: string;
  readonly planeDir: string;
  readonly payloadsDir: string;
  readonly agentBinary: string;
  readonly defaultWorkdir: string;
  readonly maxConcurrentCreates: number;
  readonly launchTimeoutMs: number;
  readonly buildTimeoutMs: number;
  readonly buildNetwork: 'none' | 'host';
  readonly openNetwork: 'none' | 'host';
  readonly diskBytes: number;
  readonly pids: number;
  readonly openFiles: number;
  readonly masks: readonly string[];
  readonly exposed: readonly string[];
  readonly require: readonly string[];
}
