import type { ObjectStore } from '@espalier/objects';
import type { AgentAccess } from '@espalier/sandbox-client';
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { cpus, hostname, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { AgentConnectionError, type AgentClient } from '../../agent/agent-client.ts';
import {
  SandboxDriverError,
  type DriverObserver,
  type DriverSandbox,
  type NodeCapacity,
  type SandboxDriver,
  type SandboxFailure,
  type SandboxRequest,
} from '../driver.ts';
import { cgroupsOf, removeCgroups } from './cgroups.ts';
import { ImageBuilder, type BuildSandbox } from './images/image-builder.ts';
import { ImageStore, type LocalImage } from './images/image-store.ts';
import { readTaskImage } from './images/task-image.ts';
import {
  launch,
  launchLog,
  probeIsolation,
  requireIsolation,
  type IsolationReport,
  type LaunchSpec,
} from './launcher.ts';
import type { LocalDriverSettings } from './local-settings.ts';
import { isProcess, killProcesses, processesWith } from './processes.ts';
import { cpuCores, memoryBytes } from './quantities.ts';
import { Semaphore } from './semaphore.ts';
import { StateDirectory, type LocalRecord } from './state-directory.ts';

const KILL_MS = 10_000;
/** Words of the launcher that no other sandbox on this machine would be spared. */
const CANNOT_ISOLATE = /LAUNCH_(?:ROOTLESS|BUBBLEWRAP|NAMESPACE|CGROUP)|bwrap: /;
const NO_IMAGE: LocalImage = { key: '', layers: [], env: {}, workdir: null };

export interface LocalDriverOptions {
  readonly settings: LocalDriverSettings;
  readonly agents: AgentClient;
  readonly objects: ObjectStore;
  readonly log: Logger;
}

/** Sandboxes as namespaces of this machine (bubblewrap); see docs for what they are isolated from. */
export class LocalDriver implements SandboxDriver {
  readonly name = 'local';
  readonly #options: LocalDriverOptions;
  readonly #settings: LocalDriverSettings;
  readonly #log: Logger;
  readonly #state: StateDirectory;
  readonly #images: ImageStore;
  readonly #builder: ImageBuilder;
  readonly #records = new Map<string, LocalRecord>();
  readonly #removing = new Map<string, Promise<void>>();
  /** Tells creations under way that their sandbox is no longer wanted. */
  readonly #removals = new Map<string, AbortController>();
  readonly #launches: Semaphore;
  #observer: DriverObserver = { changed: () => undefined };
  #isolation: IsolationReport | null = null;

  constructor(options: LocalDriverOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#log = options.log;
    this.#launches = new Semaphore(options.settings.maxConcurrentCreates);
    this.#state = new StateDirectory(options.settings.stateDir);
    this.#images = new ImageStore(this.#state.root);
    this.#builder = new ImageBuilder({
      store: this.#images,
      agents: options.agents,
      open: (upper, work) => this.#openBuild(upper, work),
      timeoutMs: options.settings.buildTimeoutMs,
      networkNote:
        options.settings.buildNetwork === 'none'
          ? " (builds have no network; ESPALIER_SANDBOX_BUILD_NETWORK=host gives them this machine's)"
          : '',
    });
  }

  async start(observer: DriverObserver): Promise<void> {
    this.#observer = observer;
    this.#state.acquire();
    this.#isolation = await probeIsolation(this.#settings.agentBinary);
    requireIsolation(this.#isolation, this.#settings.require);
    this.#log.info(this.#isolation, 'isolation of local sandboxes');
    for (const record of this.#state.read()) this.#records.set(record.id, record);
    await this.sweep();
    await this.#sweepBuilds();
    await Promise.all([...this.#records.values()].map((record) => this.#takeUp(record)));
  }

  async create(id: string, request: SandboxRequest): Promise<DriverSandbox> {
    await this.#removing.get(id);
    // Said now, not after the launch: the caller can still change the request.
    memoryBytes(request.memory);
    cpuCores(request.cpu);
    this.#payloadBinds(request);
    const record: LocalRecord = {
      id,
      request,
      createdAt: Date.now(),
      phase: 'creating',
      message: '',
      failure: null,
      isolation: this.#isolationOf(request),
      nonce: randomUUID(),
      token: randomBytes(32).toString('base64url'),
      socket: this.#state.newSocket(),
      workdir: this.#settings.defaultWorkdir,
      pid: null,
    };
    this.#save(record);
    this.#run(record);
    return record;
  }

  get(id: string): DriverSandbox | undefined {
    return this.#records.get(id);
  }

  list(): readonly DriverSandbox[] {
    return [...this.#records.values()];
  }

  access(id: string): AgentAccess | undefined {
    const record = this.#records.get(id);
    return record?.phase === 'ready' ? accessOf(record) : undefined;
  }

  remove(id: string): Promise<void> {
    const running = this.#removing.get(id);
    if (running) return running;
    const record = this.#records.get(id);
    if (!record) return Promise.resolve();
    this.#records.delete(id);
    this.#removals.get(id)?.abort(new SandboxDriverError('SANDBOX_REMOVED', `sandbox ${id} was removed`, false));
    this.#removals.delete(id);
    const removal = this.#destroy(record)
      .then(() => this.#state.remove(id, record.socket))
      .finally(() => this.#removing.delete(id));
    this.#removing.set(id, removal);
    return removal;
  }

  async check(id: string): Promise<boolean> {
    const record = this.#records.get(id);
    if (record?.phase !== 'ready') return record !== undefined;
    if (record.pid !== null && isProcess(record.pid, record.nonce)) return true;
    await this.#fail(record, {
      code: 'SANDBOX_LOST',
      message: "the sandbox's processes have ended: its lease lapsed, or they were killed",
      retryable: true,
    });
    return false;
  }

  async sweep(): Promise<void> {
    for (const id of this.#state.ids()) {
      if (this.#records.has(id) || this.#removing.has(id)) continue;
      this.#log.warn({ sandbox_id: id }, 'removing what belongs to no sandbox');
      await killProcesses(`${this.#state.directoryOf(id)}/`, KILL_MS);
      await removeCgroups(this.#cgroup(id));
      await this.#state.remove(id, null);
    }
  }

  nodes(): readonly NodeCapacity[] {
    return [{ name: hostname(), cpu: cpus().length, memoryBytes: totalmem() }];
  }

  appendJournal(id: string, line: string): void {
    this.#state.appendJournal(id, line);
  }

  readJournal(id: string): readonly string[] {
    return this.#state.readJournal(id);
  }

  stop(): Promise<void> {
    this.#state.release();
    return Promise.resolve();
  }

  /** Removes what builds left that died with an earlier manager. */
  async #sweepBuilds(): Promise<void> {
    await killProcesses(join(this.#state.root, 'images', '.build-'), KILL_MS);
    this.#images.sweep();
    this.#state.sweepSockets(this.#records.values());
    for (const name of cgroupsOf(`${this.#state.tag}-build-`)) await removeCgroups(`espalier/${name}`);
  }

  /** Re-attaches to a sandbox of an earlier manager, or starts over one that was still being created. */
  async #takeUp(record: LocalRecord): Promise<void> {
    if (record.phase === 'failed') return;
    if (record.phase === 'creating') {
      // Nothing has run in it yet.
      await killProcesses(record.nonce, KILL_MS);
      this.#run(record);
      return;
    }
    if (!(await this.check(record.id))) return;
    this.#observer.changed(record);
  }

  /** Aborts when the sandbox is removed. */
  #removal(id: string): AbortSignal {
    const known = this.#removals.get(id) ?? new AbortController();
    this.#removals.set(id, known);
    return known.signal;
  }

  /** Creates in the background; every outcome goes to the record. */
  #run(record: LocalRecord): void {
    this.#launches
      .run(() => this.#launch(record))
      .catch(async (error: unknown) => {
        const known = this.#records.get(record.id);
        if (known?.nonce !== record.nonce) return;
        const failure: SandboxFailure =
          error instanceof Error && 'code' in error && 'retryable' in error
            ? { code: String(error.code), message: error.message, retryable: error.retryable === true }
            : {
                code: 'SANDBOX_CREATE',
                message: error instanceof Error ? error.message : String(error),
                retryable: true,
              };
        await this.#fail(known, failure);
      })
      .catch((error: unknown) => this.#log.error({ err: error, sandbox_id: record.id }, 'recording a failure failed'));
  }

  async #launch(first: LocalRecord): Promise<void> {
    const { id, request } = first;
    let image = NO_IMAGE;
    if (request.task_package !== null) {
      this.#update(first, { message: 'Building image' });
      image = await this.#builder.ensure(
        await readTaskImage(this.#options.objects, request.task_package, this.#settings.defaultWorkdir),
        this.#removal(id),
      );
    }
    const workdir = image.workdir ?? this.#settings.defaultWorkdir;
    const record = this.#update(first, { message: '', workdir });
    if (!record) return;
    const spec: LaunchSpec = {
      ...this.#baseSpec(record),
      layers: image.layers,
      binds: this.#payloadBinds(request),
      workdir,
      env: { ...image.env, ...request.env },
      lease_ms: (request.lease_seconds ?? 0) * 1000,
      network: request.block_network ? 'none' : this.#settings.openNetwork,
      memory_bytes: memoryBytes(request.memory),
      cpus: cpuCores(request.cpu),
    };
    const pid = await this.#start(spec, accessOf(record), () => {
      // Sooner than the next sweep would see it; removed sandboxes are not found any more.
      this.check(id).catch((error: unknown) => this.#log.error({ err: error, sandbox_id: id }, 'check failed'));
    });
    if (!this.#update(record, { phase: 'ready', pid })) await killProcesses(record.nonce, KILL_MS);
    else this.#log.debug({ sandbox_id: id, ms: Date.now() - record.createdAt }, 'sandbox ready');
  }

  /** Launches and waits until the agent answers. Throws `SANDBOX_CREATE` with the launcher's own words. */
  async #start(spec: LaunchSpec, access: AgentAccess, onEnd: () => void): Promise<number> {
    const child = launch(this.#settings.agentBinary, spec);
    let ended = false;
    const end = new Promise<void>((resolve) => {
      const over = (): void => {
        ended = true;
        resolve();
      };
      child.once('exit', over);
      child.once('error', over);
    });
    const deadline = performance.now() + this.#settings.launchTimeoutMs;
    while (!ended && performance.now() < deadline) {
      if (existsSync(spec.socket))
        try {
          await Promise.race([this.#options.agents.health(spec.sandbox_id, access), end]);
          if (!ended && child.pid !== undefined) {
            child.once('exit', onEnd);
            return child.pid;
          }
        } catch (error) {
          if (!(error instanceof AgentConnectionError)) throw error;
        }
      await Promise.race([delay(2), end]);
    }
    await killProcesses(spec.nonce, KILL_MS);
    const text = launchLog(spec.directory);
    if (ended && CANNOT_ISOLATE.test(text))
      throw new SandboxDriverError('SANDBOX_ISOLATION', `this machine cannot isolate the sandbox: ${text}`, false);
    throw new SandboxDriverError(
      'SANDBOX_CREATE',
      ended
        ? `the launcher ended: ${text}`
        : `the agent did not answer within ${this.#settings.launchTimeoutMs} ms: ${text}`,
      true,
    );
  }

  async #openBuild(upper: string, work: string): Promise<BuildSandbox> {
    const id = `build-${randomBytes(6).toString('hex')}`;
    const directory = join(upper, '..', 'sandbox');
    const record = {
      id,
      nonce: randomUUID(),
      token: randomBytes(32).toString('base64url'),
      socket: this.#state.newSocket(),
    };
    const access = accessOf({ ...record, isolation: 'build', workdir: '/' });
    mkdirSync(directory, { mode: 0o700 });
    const close = async (): Promise<void> => {
      await killProcesses(record.nonce, KILL_MS);
      await removeCgroups(this.#cgroup(id));
      rmSync(record.socket, { force: true });
      rmSync(directory, { recursive: true, force: true });
    };
    try {
      await this.#start(
        {
          ...this.#baseSpec(record),
          directory,
          keep_upper: upper,
          keep_work: work,
          workdir: '',
          network: this.#settings.buildNetwork,
        },
        access,
        () => undefined,
      );
    } catch (error) {
      await close();
      throw error;
    }
    return { id, access, close };
  }

  #baseSpec(record: { id: string; nonce: string; token: string; socket: string }): LaunchSpec {
    const settings = this.#settings;
    return {
      sandbox_id: record.id,
      nonce: record.nonce,
      directory: this.#state.directoryOf(record.id),
      socket: record.socket,
      layers: [],
      masks: [settings.planeDir, settings.stateDir, ...settings.masks],
      exposed: settings.exposed,
      disk_bytes: settings.diskBytes,
      keep_upper: '',
      keep_work: '',
      binds: [],
      hostname: record.id.slice(0, 63),
      workdir: settings.defaultWorkdir,
      env: {},
      token: record.token,
      lease_ms: 0,
      network: 'none',
      memory_bytes: 0,
      cpus: 0,
      pids: settings.pids,
      open_files: settings.openFiles,
      cgroup: this.#cgroup(record.id),
      controllers: this.#isolation?.cgroup ?? [],
    };
  }

  #payloadBinds(request: SandboxRequest): LaunchSpec['binds'] {
    return request.payloads.map((name) => {
      const source = join(this.#settings.payloadsDir, name);
      if (!existsSync(source))
        throw new SandboxDriverError(
          'SANDBOX_PAYLOAD',
          `payload "${name}" is not installed in ${this.#settings.payloadsDir}`,
          false,
        );
      return { source, target: `/opt/espalier/${name}`, read_only: true };
    });
  }

  #isolationOf(request: SandboxRequest): string {
    const limits = this.#isolation?.cgroup.toSorted().join('+') ?? '';
    const network = request.block_network ? 'none' : this.#settings.openNetwork;
    return `${this.#isolation?.isolation ?? 'unknown'}; network ${network}; limits disk${limits === '' ? '' : `+${limits}`}`;
  }

  #cgroup(id: string): string {
    return `espalier/${this.#state.tag}-${id}`;
  }

  #save(record: LocalRecord): void {
    this.#state.write(record);
    this.#records.set(record.id, record);
    this.#observer.changed(record);
  }

  /** Changes a record unless the sandbox has been removed or replaced meanwhile. */
  #update(record: LocalRecord, change: Partial<LocalRecord>): LocalRecord | null {
    const current = this.#records.get(record.id);
    if (current?.nonce !== record.nonce) return null;
    const next = { ...current, ...change };
    this.#save(next);
    return next;
  }

  async #fail(record: LocalRecord, failure: SandboxFailure): Promise<void> {
    await this.#destroy(record);
    this.#update(record, { phase: 'failed', failure, message: failure.message, pid: null });
  }

  async #destroy(record: LocalRecord): Promise<void> {
    if (!(await killProcesses(record.nonce, KILL_MS)))
      this.#log.error({ sandbox_id: record.id, pids: processesWith(record.nonce) }, 'processes do not end');
    await removeCgroups(this.#cgroup(record.id));
  }
}

const accessOf = (record: Pick<LocalRecord, 'socket' | 'token' | 'isolation' | 'workdir'>): AgentAccess => ({
  address: `unix:${record.socket}`,
  token: record.token,
  isolation: record.isolation,
  workdir: record.workdir,
});
