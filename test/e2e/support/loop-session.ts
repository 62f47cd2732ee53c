import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { EventMap, TopicName } from '@espalier/contracts';
import { openKafka, type KafkaPort } from '@espalier/kafka';
import { nodeBinary, repositoryRoot, startPlane, type Plane, type PlaneOptions } from '@espalier/local-plane';

/** What a command printed and how it ended. */
export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A whole plane of its own in a temporary folder, used as its users do: through the CLI and through Kafka. */
export class LoopSession {
  readonly plane: Plane;
  readonly kafka: KafkaPort;
  readonly dir: string;

  private constructor(plane: Plane, kafka: KafkaPort, dir: string) {
    this.plane = plane;
    this.kafka = kafka;
    this.dir = dir;
  }

  /** `prepare` is given the plane's folder before the plane starts in it. */
  static async start(options: PlaneOptions = {}, prepare?: (dir: string) => Promise<void>): Promise<LoopSession> {
    const dir = mkdtempSync(join(tmpdir(), 'espalier-e2e-'));
    await prepare?.(dir);
    const plane = await startPlane({ dir, isolated: true, ...options });
    const kafka = openKafka({
      brokers: plane.brokers,
      clientId: 'e2e',
      prefix: plane.prefix,
      profile: 'embedded',
    });
    return new LoopSession(plane, kafka, dir);
  }

  /** Stops the plane and removes its folder; kept with ESPALIER_KEEP=1, for a look. */
  async stop(): Promise<void> {
    await this.kafka.close();
    await this.plane.stop();
    if (process.env['ESPALIER_KEEP'] !== '1') rmSync(this.dir, { recursive: true, force: true });
  }

  /** Runs `espalier ARGS`. */
  cli(...args: string[]): Promise<CommandResult> {
    const root = repositoryRoot();
    return new Promise((resolve) => {
      execFile(
        nodeBinary(root),
        [join(root, 'apps/cli/dist/main.js'), ...args, '--dir', this.dir],
        { cwd: root, env: { ...process.env, ...this.plane.clientEnvironment }, maxBuffer: 64 * 1024 * 1024 },
        (error, stdout, stderr) =>
          resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : 1, stdout, stderr }),
      );
    });
  }

  /** Runs `espalier ARGS`, which must succeed. */
  async ok(...args: string[]): Promise<string> {
    const result = await this.cli(...args);
    if (result.code !== 0)
      throw new Error(`espalier ${args.join(' ')}: exit ${result.code}\n${result.stdout}\n${result.stderr}`);
    return result.stdout;
  }

  /** Writes a run file and creates the run with its tasks (names under examples/tasks). */
  async createRun(runId: string, tasks: readonly string[], more: object = {}): Promise<void> {
    const root = repositoryRoot();
    const file = join(this.dir, `${runId}.yaml`);
    writeFileSync(
      file,
      stringify({
        run: runId,
        policy: { model: 'reference', endpoint: `${this.plane.url('reference-learner') ?? ''}/v1`, max_tokens: 4096 },
        harness: 'mini',
        tasks: tasks.map((task) => join(root, 'examples/tasks', task)),
        group: { size: 4, budget: 6, mode: 'per_completion', rho_min: 0.25, rho_max: 0.75 },
        batch: { size: 8, max_staleness: 1 },
        scorers: ['verifier@v1'],
        limits: { wall: '1m', model_calls: 12, setup: '1m' },
        max_attempts_in_flight: 18,
        repeat_tasks: true,
        ...more,
      }),
    );
    await this.ok('run', 'create', file);
  }

  /** Resolves with the first event of `topic` that `wanted` accepts, stored ones included. */
  async event<T extends TopicName>(
    topic: T,
    wanted: (event: EventMap[T]) => boolean,
    timeoutMs: number,
  ): Promise<EventMap[T]> {
    let found: ((event: EventMap[T]) => void) | undefined;
    const first = new Promise<EventMap[T]>((resolve) => (found = resolve));
    const consumer = this.kafka.broadcast({
      topics: [topic],
      from: 'earliest',
      handler: (event) => {
        const value = event.value;
        if (wanted(value)) found?.(value);
      },
    });
    await consumer.start();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no such ${topic} within ${timeoutMs} ms`)), timeoutMs);
    });
    try {
      return await Promise.race([first, late]);
    } finally {
      clearTimeout(timer);
      await consumer.stop();
    }
  }

  ended(runId: string, timeoutMs: number): Promise<EventMap['run.reported']> {
    return this.event('run.reported', (event) => event.run_id === runId && event.kind === 'ENDED', timeoutMs);
  }

  /** All stored events of a topic. */
  async stored<T extends TopicName>(topic: T): Promise<EventMap[T][]> {
    const events: EventMap[T][] = [];
    for await (const { value } of this.kafka.reader().readAll(topic)) if (value !== null) events.push(value);
    return events;
  }
}
