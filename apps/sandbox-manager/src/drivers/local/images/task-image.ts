import type { ObjectStore } from '@espalier/objects';
import {
  fileAt,
  filesBelow,
  parseDockerfile,
  unpackFiles,
  type DockerfilePlan,
  type DockerfileStep,
  type TaskFile,
} from '@espalier/tasks';
import { parse } from 'smol-toml';
import { zstdDecompressSync } from 'node:zlib';
import { SandboxDriverError } from '../../driver.ts';
import { buildContext } from './context.ts';

/** What to build for a task. */
export interface TaskImage {
  readonly plan: DockerfilePlan;
  readonly context: readonly TaskFile[];
}

const ZSTD_MAGIC = 0xfd2fb528;

/** Fetches a task package and reads what image its `environment/` asks for. */
export async function readTaskImage(
  store: ObjectStore,
  reference: { readonly key: string; readonly sha256: string },
  defaultWorkdir: string,
): Promise<TaskImage> {
  const stored = await store.getStored(reference.key);
  const compressed = stored.length >= 4 && stored.readUInt32LE(0) === ZSTD_MAGIC;
  const files = await unpackFiles(compressed ? zstdDecompressSync(stored) : stored);
  const environment = filesBelow(files, 'environment');
  const dockerfile = fileAt(environment, 'Dockerfile');
  if (fileAt(environment, 'docker-compose.yaml') && !dockerfile)
    throw new SandboxDriverError(
      'IMAGE_UNSUPPORTED',
      'environment/docker-compose.yaml needs a container runtime; the local driver builds environment/Dockerfile alone',
      false,
    );
  if (dockerfile)
    return { plan: parseDockerfile(dockerfile.content.toString('utf8')), context: buildContext(environment) };
  return { plan: planWithoutDockerfile(files, environment, defaultWorkdir), context: environment };
}

interface TaskToml {
  readonly environment?: { readonly docker_image?: string; readonly workdir?: string };
}

/** Without a Dockerfile the image is `docker_image`, and loose files go to the working directory. */
function planWithoutDockerfile(
  files: readonly TaskFile[],
  environment: readonly TaskFile[],
  defaultWorkdir: string,
): DockerfilePlan {
  const text = fileAt(files, 'task.toml')?.content.toString('utf8') ?? '';
  const { docker_image: base = 'host', workdir = defaultWorkdir } = (parse(text) as TaskToml).environment ?? {};
  const steps: DockerfileStep[] = [{ kind: 'mkdir', line: 0, path: workdir }];
  if (environment.length > 0) steps.push({ kind: 'copy', line: 0, sources: ['.'], target: `${workdir}/`, chmod: null });
  return { base, steps, env: {}, workdir };
}
