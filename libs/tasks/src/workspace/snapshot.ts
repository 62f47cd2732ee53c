import { extract, pack, type Header } from 'tar-stream';
import type { WorkspaceSandbox } from '../sandbox-port.ts';
import type { LoadedTask } from '../task-directory/parse-task.ts';

const TIMEOUT_MS = 120_000;

/** Thrown when a workspace cannot be captured or restored; the sandbox, not the work, is at fault. */
export class WorkspaceError extends Error {
  readonly code = 'WORKSPACE_SNAPSHOT';
  readonly retryable = true;

  constructor(message: string) {
    super(message);
    this.name = 'WorkspaceError';
  }
}

/** What is carried from the agent's sandbox into the fresh one that is scored. */
export interface SnapshotPlan {
  /** Absolute paths, files or directories. A directory is replaced as a whole when it is restored. */
  readonly paths: readonly string[];
}

/**
 * What to carry: the artifacts that the task declares when it wants a separate verifier, else the working directory
 * and the conventional artifacts directory.
 */
export function snapshotPlan(task: Pick<LoadedTask, 'verifierMode' | 'artifacts'>, workdir: string): SnapshotPlan {
  if (task.verifierMode === 'shared') return { paths: [...new Set([workdir, '/logs/artifacts'])] };
  return { paths: [...new Set(task.artifacts.map(({ source }) => absolute(source, workdir)))] };
}

/**
 * Captures the paths of a plan as one tar with names relative to `/`. A path that does not exist is left out: the work
 * deleted it, or never made it.
 */
export async function captureWorkspace(sandbox: WorkspaceSandbox, plan: SnapshotPlan): Promise<Buffer> {
  const target = pack();
  const bytes = collect(target);
  for (const path of [...plan.paths].sort()) {
    const kind = await kindOf(sandbox, path);
    const root = path.replace(/^\/+|\/+$/g, '');
    if (kind.type === 'file') {
      target.entry({ name: root, mode: kind.mode, mtime: new Date(0) }, Buffer.from(await sandbox.getFile(path)));
    } else if (kind.type === 'directory') {
      target.entry({ name: root, type: 'directory', mode: kind.mode, mtime: new Date(0) });
      await append(target, root, await sandbox.getArchive(path));
    }
  }
  target.finalize();
  return bytes;
}

/**
 * Puts a snapshot into a fresh sandbox of the same image. What the work deleted is deleted there too.
 * @throws {WorkspaceError} when the sandbox refuses.
 */
export async function restoreWorkspace(
  sandbox: WorkspaceSandbox,
  plan: SnapshotPlan,
  snapshot: Uint8Array,
): Promise<void> {
  const clear = plan.paths.map((path) => {
    const quoted = quote(path);
    return `if [ -d ${quoted} ] && [ ! -L ${quoted} ]; then find ${quoted} -mindepth 1 -delete; else rm -f -- ${quoted}; fi`;
  });
  await succeed(sandbox, clear.join(' && '));
  await sandbox.putArchive('/', snapshot);
}

type Kind = { readonly type: 'file' | 'directory'; readonly mode: number } | { readonly type: 'absent' };

async function kindOf(sandbox: WorkspaceSandbox, path: string): Promise<Kind> {
  const quoted = quote(path);
  const found = await succeed(
    sandbox,
    `if [ -d ${quoted} ]; then stat -L -c 'directory %a' ${quoted}; elif [ -f ${quoted} ]; then stat -L -c 'file %a' ${quoted}; fi`,
  );
  const [type, mode] = found.trim().split(' ');
  if (type !== 'file' && type !== 'directory') return { type: 'absent' };
  return { type, mode: Number.parseInt(mode ?? '644', 8) };
}

async function succeed(sandbox: WorkspaceSandbox, command: string): Promise<string> {
  const result = await sandbox.exec({ command, cwd: '/', timeoutMs: TIMEOUT_MS });
  if (result.exitCode === 0) return result.stdout;
  throw new WorkspaceError(
    `\`${command}\` ended with ${result.exitCode ?? 'a signal'}: ${result.stderr.slice(0, 300)}`,
  );
}

async function append(target: ReturnType<typeof pack>, root: string, tar: Uint8Array): Promise<void> {
  const reader = extract();
  reader.end(Buffer.from(tar.buffer, tar.byteOffset, tar.byteLength));
  for await (const entry of reader) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk as Buffer);
    const name = entry.header.name.replace(/^(?:\.?\/)+/, '').replace(/\/$/, '');
    // The directory itself has its entry already.
    if (name === '' || name === '.') continue;
    const { mode, type, linkname } = entry.header;
    const header: Partial<Header> & { name: string } = { name: `${root}/${name}`, mtime: new Date(0) };
    if (mode !== undefined) header.mode = mode;
    if (type) header.type = type;
    if (linkname) header.linkname = type === 'link' ? `${root}/${linkname.replace(/^(?:\.?\/)+/, '')}` : linkname;
    target.entry(header, Buffer.concat(chunks));
  }
}

async function collect(stream: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const absolute = (path: string, workdir: string): string =>
  path.startsWith('/') ? path : `${workdir.replace(/\/+$/, '')}/${path}`;
const quote = (path: string): string => `'${path.replaceAll("'", `'\\''`)}'`;
