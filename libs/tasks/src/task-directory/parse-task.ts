import { parse as parseToml, TomlError } from 'smol-toml';
import { TaskInvalidError, TaskUnsupportedError, type TaskProblem } from '../errors.ts';
import { taskConfigSchema, type TaskArtifact, type TaskConfig } from './task-config.ts';
import { fileAt, type TaskFile } from './task-files.ts';
import { unknownKeys } from './unknown-keys.ts';

/** A valid task, held in memory. */
export interface LoadedTask {
  /** `org/name` from task.toml; empty for tasks from before there were names. */
  readonly name: string;
  readonly config: TaskConfig;
  /** instruction.md, unchanged. */
  readonly instruction: string;
  /** Every file of the task, sorted by path. */
  readonly files: readonly TaskFile[];
  /** What the verifier sees: the agent's own sandbox state, or only declared artifacts in a fresh one. */
  readonly verifierMode: 'shared' | 'separate';
  /** Paths that a separate verifier is given, `/logs/artifacts` among them as Harbor has it. Empty in shared mode. */
  readonly artifacts: readonly TaskArtifact[];
  /** The agent's network; the deprecated `allow_internet` is folded in. */
  readonly networkMode: 'public' | 'no-network' | 'allowlist';
  /** What the task asks for and Espalier passes over (unknown keys, other users, health checks); never empty words. */
  readonly notices: readonly TaskProblem[];
}

/** How strict to be. */
export interface ParseTaskOptions {
  /** `reject` (default) makes an unknown key an error; `notice` lists it in {@link LoadedTask.notices}, as Harbor drops it. */
  readonly unknownKeys?: 'reject' | 'notice';
  /** Names the task in errors. */
  readonly where?: string;
}

const CONFIG_FILE = 'task.toml';

/**
 * Validates the files of a task.
 * @throws {TaskInvalidError} listing every problem with its file and key.
 * @throws {TaskUnsupportedError} when the task is valid and cannot be run here.
 */
export function parseTask(files: readonly TaskFile[], options: ParseTaskOptions = {}): LoadedTask {
  const where = options.where ?? 'The task';
  const problems: TaskProblem[] = [];
  const raw = readConfig(files, problems);
  const unknown = raw === null ? [] : unknownKeys(taskConfigSchema, raw, CONFIG_FILE);
  if ((options.unknownKeys ?? 'reject') === 'reject') problems.push(...unknown);
  const config = raw === null ? null : validConfig(raw, problems);
  if (config !== null) problems.push(...contradictions(config), ...missingFiles(config, files));
  if (config === null || problems.length > 0) throw new TaskInvalidError(where, problems);
  const unsupported = unsupportedParts(config, files);
  if (unsupported.length > 0) throw new TaskUnsupportedError(where, unsupported);
  const verifierMode =
    config.verifier.environment_mode ?? (config.verifier.environment === undefined ? 'shared' : 'separate');
  return {
    name: config.task?.name ?? '',
    config,
    instruction: fileAt(files, 'instruction.md')?.content.toString('utf8') ?? '',
    files,
    verifierMode,
    artifacts: verifierMode === 'separate' ? withConvention(config.artifacts) : [],
    networkMode: networkModeOf(config),
    notices: [...unknown, ...passedOver(config)],
  };
}

function readConfig(files: readonly TaskFile[], problems: TaskProblem[]): Record<string, unknown> | null {
  const file = fileAt(files, CONFIG_FILE);
  if (!file) {
    problems.push({ file: CONFIG_FILE, key: null, message: 'is missing' });
    return null;
  }
  try {
    const { version, ...table }: Record<string, unknown> = parseToml(file.content.toString('utf8'));
    // Old files call the schema version `version`.
    return version === undefined ? table : { schema_version: version, ...table };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const reason = error.message.split('\n')[0] ?? 'cannot be parsed';
    problems.push({ file: CONFIG_FILE, key: null, message: `line ${error.line}, column ${error.column}: ${reason}` });
    return null;
  }
}

function validConfig(raw: Record<string, unknown>, problems: TaskProblem[]): TaskConfig | null {
  const parsed = taskConfigSchema.safeParse(raw);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) {
    problems.push({ file: CONFIG_FILE, key: issue.path.map(String).join('.') || null, message: issue.message });
  }
  return null;
}

function contradictions(config: TaskConfig): TaskProblem[] {
  const tables = [
    ['agent', config.agent],
    ['verifier', config.verifier],
    ['environment', config.environment],
  ] as const;
  return tables
    .filter(([, table]) => table.allowed_hosts !== undefined && table.network_mode !== 'allowlist')
    .map(([name]) => ({
      file: CONFIG_FILE,
      key: `${name}.allowed_hosts`,
      message: 'is allowed with network_mode = "allowlist" only',
    }));
}

function missingFiles(config: TaskConfig, files: readonly TaskFile[]): TaskProblem[] {
  if (config.steps !== undefined || config.environment.os === 'windows') return [];
  const problems: TaskProblem[] = [];
  const instruction = fileAt(files, 'instruction.md');
  if (!instruction) problems.push({ file: 'instruction.md', key: null, message: 'is missing' });
  else if (instruction.content.toString('utf8').trim() === '') {
    problems.push({ file: 'instruction.md', key: null, message: 'is empty' });
  }
  const hasDefinition = ['Dockerfile', 'docker-compose.yaml'].some((name) => fileAt(files, `environment/${name}`));
  if (!hasDefinition && config.environment.docker_image === undefined) {
    problems.push({
      file: 'environment/Dockerfile',
      key: null,
      message: 'is missing, and task.toml has no environment.docker_image',
    });
  }
  if (!fileAt(files, 'tests/test.sh')) problems.push({ file: 'tests/test.sh', key: null, message: 'is missing' });
  return problems;
}

function unsupportedParts(config: TaskConfig, files: readonly TaskFile[]): TaskProblem[] {
  const problems: TaskProblem[] = [];
  const add = (file: string, key: string | null, message: string): void => {
    problems.push({ file, key, message });
  };
  if (config.steps !== undefined) add(CONFIG_FILE, 'steps', 'tasks of several steps are not supported');
  if (config.environment.os === 'windows') add(CONFIG_FILE, 'environment.os', 'Windows is not supported');
  if (fileAt(files, 'environment/docker-compose.yaml')) {
    add('environment/docker-compose.yaml', null, 'several containers are not supported; use environment/Dockerfile');
  }
  for (const name of ['Dockerfile', 'docker-compose.yaml']) {
    if (fileAt(files, `tests/${name}`)) add(`tests/${name}`, null, 'an own image for the verifier is not supported');
  }
  if (config.verifier.environment?.docker_image !== undefined) {
    add(CONFIG_FILE, 'verifier.environment.docker_image', 'an own image for the verifier is not supported');
  }
  for (const [index, { service }] of config.artifacts.entries()) {
    if (service !== undefined && service !== 'main') {
      add(CONFIG_FILE, `artifacts.${index}.service`, 'only the main service exists');
    }
  }
  return problems;
}

function passedOver(config: TaskConfig): TaskProblem[] {
  const given: readonly (readonly [string, boolean])[] = [
    ['agent.user', config.agent.user !== undefined],
    ['verifier.user', config.verifier.user !== undefined],
    ['verifier.collect', config.verifier.collect.length > 0],
    ['environment.healthcheck', config.environment.healthcheck !== undefined],
    ['environment.mcp_servers', config.environment.mcp_servers.length > 0],
    ['environment.skills_dir', config.environment.skills_dir !== undefined],
    ['environment.tpu', config.environment.tpu !== undefined],
  ];
  return given
    .filter(([, isGiven]) => isGiven)
    .map(([key]) => ({ file: CONFIG_FILE, key, message: 'is not honoured' }));
}

/** A phase override of the agent wins over the environment's mode, that over the deprecated switch. */
function networkModeOf({ agent, environment }: TaskConfig): LoadedTask['networkMode'] {
  const legacy = environment.allow_internet === false ? 'no-network' : 'public';
  return agent.network_mode ?? environment.network_mode ?? legacy;
}

/** Harbor always carries the conventional publish directory, unless an entry declares it. */
function withConvention(entries: readonly TaskArtifact[]): TaskArtifact[] {
  const declared = entries.some(({ source }) => source.replace(/\/+$/, '') === '/logs/artifacts');
  return declared ? [...entries] : [{ source: '/logs/artifacts', exclude: [] }, ...entries];
}
