import { topicOf, type StateMachine } from '@espalier/contracts';
import {
  codeOf,
  type GroupAssignment,
  type GroupMembership,
  type KafkaLogger,
  type KafkaPort,
  type PartitionFollower,
  type RangeReader,
} from '@espalier/kafka';
import { ProcessorStateError } from './errors.ts';
import type { PartitionState } from './task/changelog.ts';
import type { BatchLimits, TaskPhase } from './task/parts.ts';
import { Task } from './task/task.ts';

/** Times of a processor, milliseconds. */
export interface ProcessorTimings {
  /** A member not heard from for this long loses its partitions; default 6,000. */
  readonly sessionTimeoutMs: number;
  /** Default 1,500. */
  readonly heartbeatMs: number;
  readonly rebalanceTimeoutMs: number;
  /** After an outage no timer is judged until this long after the inputs are consumed: one heartbeat interval of the workers, with room. Default 6,000. */
  readonly graceMs: number;
  /** Unhealthy when a partition has input and does not get on for this long; default 60,000. */
  readonly stallMs: number;
}

/** Options of {@link ProcessorHost}. */
export interface ProcessorOptions {
  readonly kafka: KafkaPort;
  readonly machine: StateMachine;
  /** Consumer group without prefix; begins the transactional ids and names the dead-letter topics. */
  readonly group: string;
  /** Default: the deployment's partition count. */
  readonly partitions?: number;
  /** Instance name in the `producer` field; default the connection's client id. */
  readonly instance?: string;
  readonly timings?: Partial<ProcessorTimings>;
  readonly limits?: Partial<BatchLimits>;
  /** Milliseconds UTC; default Date.now. */
  readonly clock?: () => number;
  readonly logger?: KafkaLogger;
  /** The processor cannot go on: the process has to end, so that its supervisor starts a new one. Default: throws out of the event loop. */
  readonly onFatal?: (error: Error) => void;
}

/** A partition as {@link ProcessorHost.tasks} lists it. */
export interface TaskStatus {
  readonly partition: number;
  readonly phase: TaskPhase;
  readonly transactionNo: number;
  readonly entries: number;
  readonly timers: number;
  /** Whether timers are judged. */
  readonly judging: boolean;
}

const DEFAULTS: ProcessorTimings = {
  sessionTimeoutMs: 6_000,
  heartbeatMs: 1_500,
  rebalanceTimeoutMs: 8_000,
  graceMs: 6_000,
  stallMs: 60_000,
};
const LIMITS: BatchLimits = { records: 200, outputs: 2_000, bytes: 4_000_000, timers: 200 };
/** A kept state is folded on from where it was only while the changelog still has every tombstone since (a day by default). */
const KEEP_MS = 3_600_000;
const ENDING_MS = 8_000;
/** How often the host looks whether its process was frozen, milliseconds. */
const PULSE_MS = 250;

const silent: KafkaLogger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/**
 * Drives a pure state machine over the partitions that its group assigns to this member: one serial task per generation and
 * partition, each step one Kafka transaction. Any number of hosts share a group; any of them may be killed or frozen at any moment.
 */
export class ProcessorHost {
  readonly #options: ProcessorOptions;
  readonly #timings: ProcessorTimings;
  readonly #logger: KafkaLogger;
  readonly #tasks = new Map<number, Task>();
  readonly #ending = new Map<number, Promise<void>>();
  readonly #kept = new Map<number, { readonly state: PartitionState; readonly at: number }>();
  #membership: GroupMembership | undefined;
  #follower: PartitionFollower | undefined;
  #reader: RangeReader | undefined;
  #fatal: Error | undefined;
  #stopped = false;
  #applied = 0;
  #pulse: NodeJS.Timeout | undefined;
  #pulseAt = 0;
  /** Tasks that were frozen or failed: what they know of their partition is not built upon. */
  readonly #untrusted = new WeakSet<Task>();

  constructor(options: ProcessorOptions) {
    this.#options = options;
    this.#timings = { ...DEFAULTS, ...options.timings };
    this.#logger = options.logger ?? options.kafka.connection.logger ?? silent;
  }

  /** Joins the group. Resolves at the first assignment; partitions are restored afterwards, see {@link ready}. */
  async start(): Promise<void> {
    const { kafka, machine, group } = this.#options;
    this.#follower = kafka.follow(`${group}-inputs`);
    this.#reader = kafka.reader();
    this.#membership = kafka.joinGroup({
      group,
      topics: machine.inputs.map((topic) => topicOf(kafka.connection.prefix, topic)),
      coPartitioned: true,
      timings: this.#timings,
      onAssigned: (assignment) => this.#assigned(assignment),
      onRevoked: () => this.#revoked(),
      onFatal: (error) => this.#fail(error),
    });
    this.#pulseAt = performance.now();
    this.#pulse = setInterval(() => this.#feelPulse(), PULSE_MS);
    await this.#membership.start();
  }

  /**
   * A process that was frozen for about a session has lost its partitions, whatever answers still lie in its sockets. Timers
   * run before those are read, so that the tasks are gone before they could begin another step.
   */
  #feelPulse(): void {
    const now = performance.now();
    const frozenMs = now - this.#pulseAt;
    this.#pulseAt = now;
    if (frozenMs < this.#timings.sessionTimeoutMs || this.#tasks.size === 0) return;
    this.#logger.warn(
      { machine: this.#options.machine.name, frozenMs: Math.round(frozenMs) },
      'the process was frozen',
    );
    for (const task of this.#tasks.values()) this.#untrusted.add(task);
    this.#revoked();
    this.#membership?.rejoin(`frozen for ${Math.round(frozenMs)} ms`);
  }

  /** Ends after the transactions in hand, and leaves the group. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#pulse);
    this.#revoked();
    await this.#ended();
    await this.#membership?.stop();
    await this.#follower?.close();
    await this.#reader?.close();
  }

  /** False when only a new process helps: a fatal fault, or a partition that does not get on. */
  healthy(): boolean {
    if (this.#fatal !== undefined) return false;
    const { stallMs } = this.#timings;
    return [...this.#tasks.values()].every((task) => task.stalledMs(stallMs / 4) < stallMs);
  }

  /** True when the group has answered and every partition assigned to this member is restored. */
  ready(): boolean {
    return (
      this.#membership?.assignment() !== undefined &&
      [...this.#tasks.values()].every(({ phase }) => phase === 'running')
    );
  }

  /** The partitions of this member. */
  tasks(): readonly TaskStatus[] {
    return [...this.#tasks.values()]
      .map((task) => ({
        partition: task.partition,
        phase: task.phase,
        transactionNo: task.state.transactionNo,
        entries: task.state.store.size,
        timers: task.state.timers.size,
        judging: task.judging,
      }))
      .sort((a, b) => a.partition - b.partition);
  }

  /** Records applied by this host since it started. */
  get applied(): number {
    return this.#applied;
  }

  #assigned(assignment: GroupAssignment): void {
    const { kafka, machine } = this.#options;
    const first = machine.inputs[0];
    if (first === undefined || this.#stopped) return;
    for (const partition of assignment.partitions.get(topicOf(kafka.connection.prefix, first)) ?? [])
      void this.#begin(partition, assignment.generation);
  }

  #revoked(): void {
    for (const task of this.#tasks.values()) task.drop();
    this.#tasks.clear();
  }

  async #begin(partition: number, generation: number): Promise<void> {
    // An earlier task of this process may still be inside its last transaction.
    await this.#ending.get(partition);
    const current = this.#membership?.assignment();
    if (this.#stopped || current?.generation !== generation) return;
    const { kafka, machine, group, instance, limits, clock } = this.#options;
    const [follower, reader] = [this.#follower, this.#reader];
    if (follower === undefined || reader === undefined) return;
    const kept = this.#kept.get(partition);
    this.#kept.delete(partition);
    const task = new Task({
      kafka,
      machine,
      group,
      partition,
      partitions: this.#options.partitions ?? kafka.partitions,
      producerName: `${machine.name}/${instance ?? kafka.connection.clientId}`,
      follower,
      reader,
      limits: { ...LIMITS, ...limits },
      graceMs: this.#timings.graceMs,
      clock: clock ?? Date.now,
      logger: this.#logger,
      kept: kept !== undefined && Date.now() - kept.at < KEEP_MS ? kept.state : undefined,
      mayTransact: () => (this.#membership?.silentForMs() ?? 0) < this.#timings.sessionTimeoutMs,
      onApplied: (records) => (this.#applied += records),
    });
    this.#tasks.set(partition, task);
    const ended = task.run().then(
      () => this.#keep(task),
      (error: unknown) => this.#failed(task, generation, error),
    );
    this.#ending.set(partition, ended);
    await ended;
    if (this.#ending.get(partition) === ended) this.#ending.delete(partition);
  }

  #keep(task: Task): void {
    // Nothing folded yet is nothing worth keeping.
    if (this.#untrusted.has(task)) return;
    if (task.state.changelogOffset > 0) this.#kept.set(task.partition, { state: task.state, at: Date.now() });
  }

  /** A task failed: its state may be behind what was committed, so it is given up, and the group is joined anew. */
  #failed(task: Task, generation: number, error: unknown): void {
    const { machine } = this.#options;
    if (this.#tasks.get(task.partition) === task) this.#tasks.delete(task.partition);
    if (this.#stopped) return;
    this.#logger.warn(
      { machine: machine.name, partition: task.partition, code: codeOf(error, 'PROCESSOR_TASK'), err: error },
      'task dropped',
    );
    if (error instanceof ProcessorStateError) this.#fail(error);
    else if (this.#membership?.assignment()?.generation === generation)
      this.#membership.rejoin(`${machine.name}, partition ${task.partition}: ${codeOf(error, 'PROCESSOR_TASK')}`);
  }

  #fail(error: Error): void {
    this.#fatal ??= error;
    const { onFatal } = this.#options;
    if (onFatal !== undefined) onFatal(error);
    else
      setImmediate(() => {
        throw error;
      });
  }

  async #ended(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([
      Promise.all(this.#ending.values()),
      new Promise((resolve) => (timer = setTimeout(resolve, ENDING_MS))),
    ]);
    clearTimeout(timer);
  }
}
