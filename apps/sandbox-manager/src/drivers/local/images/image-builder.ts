import { randomBytes } from 'node:crypto';
import { packFiles, type TaskFile } from '@espalier/tasks';
import type { AgentAccess } from '@espalier/sandbox-client';
import type { AgentClient, AgentJob } from '../../../agent/agent-client.ts';
import { SandboxDriverError } from '../../driver.ts';
import { placeCopy, type PlacedFile } from './context.ts';
import { imageKey, type ImageStore, type LocalImage } from './image-store.ts';
import type { TaskImage } from './task-image.ts';

/** A running build sandbox whose writable layer becomes the image. */
export interface BuildSandbox {
  readonly id: string;
  readonly access: AgentAccess;
  close(): Promise<void>;
}

export interface ImageBuilderOptions {
  readonly store: ImageStore;
  readonly agents: AgentClient;
  /** Starts a build sandbox over `upper`. */
  readonly open: (upper: string, work: string) => Promise<BuildSandbox>;
  readonly timeoutMs: number;
  /** Said in the error of a failed RUN, since it is the likeliest cause. */
  readonly networkNote: string;
}

const MAX_LOG = 2_000;

interface RunningBuild {
  readonly image: Promise<LocalImage>;
  readonly abort: AbortController;
  /** How many sandboxes need it. */
  waiting: number;
}

/** Builds images from Dockerfile plans, one build per key at a time. */
export class ImageBuilder {
  readonly #options: ImageBuilderOptions;
  readonly #building = new Map<string, RunningBuild>();

  constructor(options: ImageBuilderOptions) {
    this.#options = options;
  }

  /**
   * The image, built unless it is there. A build that nobody waits for any more is given up. Throws `IMAGE_BUILD` naming
   * the line, or `IMAGE_CONTEXT`; the signal's reason when it aborts.
   */
  async ensure(image: TaskImage, signal: AbortSignal): Promise<LocalImage> {
    const key = imageKey(image);
    const found = this.#options.store.find(key);
    if (found) return found;
    signal.throwIfAborted();
    const running = this.#building.get(key) ?? this.#begin(key, image);
    running.waiting += 1;
    const given = Promise.withResolvers<never>();
    const giveUp = (): void => given.reject(signal.reason as Error);
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      return await Promise.race([running.image, given.promise]);
    } finally {
      signal.removeEventListener('abort', giveUp);
      running.waiting -= 1;
      if (running.waiting === 0) {
        running.abort.abort(new SandboxDriverError('IMAGE_BUILD', 'nobody waits for the image any more', true));
        // A later request must not join a build that is being given up.
        if (this.#building.get(key) === running) this.#building.delete(key);
      }
    }
  }

  #begin(key: string, image: TaskImage): RunningBuild {
    const abort = new AbortController();
    const running: RunningBuild = { abort, waiting: 0, image: this.#build(key, image, abort.signal) };
    // Its waiters may all be gone when it fails.
    running.image.catch(() => undefined);
    this.#building.set(key, running);
    return running;
  }

  async #build(key: string, image: TaskImage, signal: AbortSignal): Promise<LocalImage> {
    const { store } = this.#options;
    const { directory, upper, work } = store.begin();
    try {
      if (image.plan.steps.length === 0) return store.commit(directory, key, image, true);
      const sandbox = await this.#options.open(upper, work);
      try {
        await this.#apply(sandbox, image, signal);
      } finally {
        await sandbox.close();
      }
      return store.commit(directory, key, image, false);
    } catch (error) {
      store.discard(directory);
      throw error;
    }
  }

  async #apply({ id, access }: BuildSandbox, { plan, context }: TaskImage, signal: AbortSignal): Promise<void> {
    const { agents } = this.#options;
    const deadline = performance.now() + this.#options.timeoutMs;
    for (const step of plan.steps) {
      signal.throwIfAborted();
      switch (step.kind) {
        case 'mkdir':
          await this.#run(
            id,
            access,
            { argv: ['mkdir', '-p', step.path], workdir: '/', env: {}, line: step.line },
            deadline,
            signal,
          );
          break;
        case 'copy':
          await agents.putArchive(id, access, '/', await tarOf(placeCopy(step, context)));
          break;
        case 'write': {
          const mode = step.chmod === null ? 0o644 : Number.parseInt(step.chmod, 8);
          await agents.putArchive(
            id,
            access,
            '/',
            await tarOf([{ path: step.target, mode, content: Buffer.from(step.content) }]),
          );
          break;
        }
        case 'run':
          await this.#run(id, access, step, deadline, signal);
          break;
      }
    }
  }

  async #run(
    id: string,
    access: AgentAccess,
    step: {
      readonly argv: readonly string[];
      readonly workdir: string;
      readonly env: Readonly<Record<string, string>>;
      readonly line: number;
    },
    deadline: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { agents } = this.#options;
    const jobId = randomBytes(12).toString('hex');
    const timeoutMs = Math.max(1, Math.ceil(deadline - performance.now()));
    let job = await agents.startJob(
      id,
      access,
      jobId,
      { argv: step.argv, cwd: step.workdir, env: step.env, timeout_ms: timeoutMs },
      20_000,
      signal,
    );
    while (job.state === 'running') job = await agents.getJob(id, access, jobId, 20_000, signal);
    if (job.state === 'exited' && job.exit_code === 0) return;
    const how =
      job.state === 'timed_out' ? 'did not end in time' : `ended with ${job.exit_code ?? job.signal ?? job.state}`;
    throw new SandboxDriverError(
      'IMAGE_BUILD',
      `environment/Dockerfile line ${step.line}: ${JSON.stringify(step.argv.at(-1) ?? '').slice(0, 300)} ${how}: ${logOf(job)}${this.#options.networkNote}`,
      false,
    );
  }
}

const logOf = (job: AgentJob): string =>
  [job.stdout, job.stderr]
    .flatMap((output) => [output.head_base64, output.tail_base64])
    .map((part) => Buffer.from(part, 'base64').toString('utf8'))
    .join('')
    .trim()
    .slice(-MAX_LOG);

/** Modes beyond a task file's two are set by the tar itself. */
async function tarOf(files: readonly PlacedFile[]): Promise<Buffer> {
  const entries = files.map(({ path, mode, content }) => ({ path: path.replace(/^\/+/, ''), mode, content }));
  return packFiles(entries as unknown as TaskFile[]);
}
