import type { ObjectStore } from '@espalier/objects';
import type { SandboxClient } from '@espalier/sandbox-client';
import {
  packTask,
  type CommandRequest,
  type CommandResult,
  type DisposableSandbox,
  type LoadedTask,
  type ProofSandboxes,
} from '@espalier/tasks';

const LEASE_SECONDS = 600;

/** Fresh sandboxes of one task's image, made by the sandbox-manager. */
export class ManagedSandboxes implements ProofSandboxes {
  readonly #client: SandboxClient;
  readonly #image: string;
  readonly #package: { readonly key: string; readonly sha256: string };
  readonly #environment: Pick<LoadedTask['config']['environment'], 'cpus' | 'memory_mb'>;

  private constructor(client: SandboxClient, task: LoadedTask, reference: { key: string; sha256: string }) {
    this.#client = client;
    this.#image = task.config.environment.docker_image ?? 'host';
    this.#package = reference;
    this.#environment = task.config.environment;
  }

  /** Stores the task's package, which its image is built from. */
  static async of(client: SandboxClient, objects: ObjectStore, task: LoadedTask): Promise<ManagedSandboxes> {
    const { key, sha256 } = await objects.put(await packTask(task.files), {
      prefix: 'packages',
      mediaType: 'application/x-tar',
    });
    return new ManagedSandboxes(client, task, { key, sha256 });
  }

  async open(): Promise<DisposableSandbox> {
    const { cpus, memory_mb } = this.#environment;
    const { sandboxId } = await this.#client.create({
      image: this.#image,
      taskPackage: this.#package,
      owner: 'espalier-cli',
      leaseSeconds: LEASE_SECONDS,
      ...(cpus === undefined ? {} : { cpu: String(cpus) }),
      ...(memory_mb === undefined ? {} : { memory: `${memory_mb}Mi` }),
    });
    await this.#client.waitReady(sandboxId);
    return new ManagedSandbox(this.#client, sandboxId);
  }
}

class ManagedSandbox implements DisposableSandbox {
  readonly #client: SandboxClient;
  readonly #id: string;

  constructor(client: SandboxClient, id: string) {
    this.#client = client;
    this.#id = id;
  }

  async exec({ command, cwd, env, timeoutMs }: CommandRequest): Promise<CommandResult> {
    const job = await this.#client.exec(this.#id, {
      command,
      timeoutMs,
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
    });
    const { exitCode, state, stdout, stderr } = job;
    return { exitCode, timedOut: state === 'timed_out', stdout: stdout.text, stderr: stderr.text };
  }

  putFile(path: string, content: Uint8Array, mode?: number): Promise<void> {
    return this.#client.putFile(this.#id, path, content, mode === undefined ? {} : { mode });
  }

  putArchive(path: string, tar: Uint8Array): Promise<void> {
    return this.#client.putArchive(this.#id, path, tar);
  }

  getFile(path: string): Promise<Uint8Array> {
    return this.#client.getFile(this.#id, path);
  }

  getArchive(path: string): Promise<Uint8Array> {
    return this.#client.readArchive(this.#id, path);
  }

  close(): Promise<void> {
    return this.#client.delete(this.#id);
  }
}
