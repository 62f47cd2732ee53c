import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { extract } from 'tar-stream';
import type { CommandRequest, CommandResult, DisposableSandbox } from '../src/sandbox-port.ts';
import { filesBelow, type TaskFile } from '../src/task-directory/task-files.ts';

/** Absolute paths of a sandbox as they stand in commands and scripts. */
const PATHS = /(?<![\w./])\/(app|tests|logs|solution)\b/g;

/**
 * Enough of a sandbox to run trusted scripts without any privilege: a temporary directory stands for the root, and the
 * absolute paths in commands and files are moved below it. It isolates nothing.
 */
export class RootedSandbox implements DisposableSandbox {
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
  }

  /** A sandbox whose /app holds the files of the task's environment, as `COPY FILE /app/FILE` would put them. */
  static async open(files: readonly TaskFile[]): Promise<RootedSandbox> {
    const sandbox = new RootedSandbox(await mkdtemp(join(tmpdir(), 'espalier-tasks-')));
    await mkdir(join(sandbox.#root, 'app'));
    for (const file of filesBelow(files, 'environment')) {
      if (file.path !== 'Dockerfile') await sandbox.putFile(`/app/${file.path}`, file.content, file.mode);
    }
    return sandbox;
  }

  async exec({ command, cwd = '/app', env = {}, timeoutMs }: CommandRequest): Promise<CommandResult> {
    return new Promise((resolve) => {
      const child = execFile(
        'bash',
        ['-c', this.#inside(command)],
        {
          cwd: join(this.#root, cwd),
          env: { ...process.env, ...env },
          timeout: timeoutMs,
          killSignal: 'SIGKILL',
          encoding: 'utf8',
        },
        (error, stdout, stderr) => {
          const exitCode = child.exitCode;
          resolve({ exitCode, timedOut: error?.killed === true, stdout: this.#outside(stdout), stderr });
        },
      );
    });
  }

  async putFile(path: string, content: Uint8Array, mode = 0o644): Promise<void> {
    const target = join(this.#root, path);
    await mkdir(dirname(target), { recursive: true });
    const text = Buffer.from(content);
    const isText = text.equals(Buffer.from(text.toString('utf8'), 'utf8'));
    await writeFile(target, isText ? this.#inside(text.toString('utf8')) : text);
    await chmod(target, mode);
  }

  async putArchive(path: string, tar: Uint8Array): Promise<void> {
    const reader = extract();
    reader.end(Buffer.from(tar));
    for await (const entry of reader) {
      const chunks: Buffer[] = [];
      for await (const chunk of entry) chunks.push(chunk as Buffer);
      const target = join(path, entry.header.name);
      if (entry.header.type === 'directory') await mkdir(join(this.#root, target), { recursive: true });
      else await this.putFile(target, Buffer.concat(chunks), entry.header.mode);
    }
  }

  async getFile(path: string): Promise<Uint8Array> {
    return Buffer.from(this.#outside(await readFile(join(this.#root, path), 'utf8')));
  }

  async getArchive(path: string): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const options = { encoding: 'buffer', maxBuffer: 64 * 1024 * 1024 } as const;
      execFile('tar', ['-C', join(this.#root, path), '-cf', '-', '.'], options, (error, stdout) => {
        if (error) reject(new Error(error.message, { cause: error }));
        else resolve(stdout);
      });
    });
  }

  async close(): Promise<void> {
    await rm(this.#root, { recursive: true, force: true });
  }

  #inside(text: string): string {
    // A whole path is moved once: what is below the root already stays.
    return text.replaceAll(this.#root, '').replaceAll(PATHS, `${this.#root}/$1`);
  }

  #outside(text: string): string {
    return text.replaceAll(this.#root, '');
  }
}
