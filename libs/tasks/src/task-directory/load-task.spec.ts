import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { taskFilesOf } from '../../test-support/task-builder.ts';
import { TaskInvalidError, TaskUnsupportedError, type TaskProblem } from '../errors.ts';
import { loadTaskDirectory } from './load-task.ts';
import { parseTask } from './parse-task.ts';

const problemsOf = (act: () => unknown): readonly TaskProblem[] => {
  try {
    act();
  } catch (error) {
    if (error instanceof TaskInvalidError || error instanceof TaskUnsupportedError) return error.problems;
    throw error;
  }
  return [];
};
const withConfig = (extra: string): ReturnType<typeof taskFilesOf> =>
  taskFilesOf({
    'task.toml': `${extra.startsWith('[') ? '' : `${extra}\n`}[task]\nname = "espalier/sample"\n${extra.startsWith('[') ? extra : ''}`,
  });

describe('parseTask', () => {
  it('fills in the defaults of Harbor', () => {
    const task = parseTask(taskFilesOf());
    expect(task.name).toBe('espalier/sample');
    expect(task.instruction).toBe('Make /app/value say 2.\n');
    expect(task.config.schema_version).toBe('1.4');
    expect(task.config.verifier.timeout_sec).toBe(600);
    expect(task.config.environment.build_timeout_sec).toBe(600);
    expect(task.verifierMode).toBe('shared');
    expect(task.artifacts).toEqual([]);
    expect(task.notices).toEqual([]);
  });

  it('names file and key of every problem at once', () => {
    const files = taskFilesOf({
      'task.toml': '[task]\nname = "no-org"\n[verifier]\ntimeout_sec = "soon"\n[environment]\nworkdir = "app"\n',
      'instruction.md': ' \n',
      'tests/test.sh': null,
    });
    expect(problemsOf(() => parseTask(files)).map(({ file, key }) => `${file} ${key}`)).toEqual([
      'task.toml task.name',
      'task.toml verifier.timeout_sec',
      'task.toml environment.workdir',
    ]);
    const emptied = taskFilesOf({ 'instruction.md': ' \n', 'tests/test.sh': null, 'environment/Dockerfile': null });
    expect(problemsOf(() => parseTask(emptied)).map(({ file }) => file)).toEqual([
      'instruction.md',
      'environment/Dockerfile',
      'tests/test.sh',
    ]);
  });

  it.each([
    ['[verifier]\ntimeout_secs = 3', 'verifier.timeout_secs', 'did you mean "timeout_sec"?'],
    ['[enviroment]\ncpus = 1', 'enviroment', 'did you mean "environment"?'],
    ['[environment]\nmemory_md = 3', 'environment.memory_md', 'did you mean "memory_mb"?'],
    ['[environment]\ncolour = 3', 'environment.colour', 'known here: network_mode, '],
    ['[verifier.environment]\ncpu = 1', 'verifier.environment.cpu', 'did you mean "cpus"?'],
    ['[[artifacts]]\nsource = "/a"\ndest = "b"', 'artifacts.0.dest', 'known here: source, destination, '],
  ])('suggests the key that was meant: %s', (config, key, message) => {
    const problems = problemsOf(() => parseTask(withConfig(config)));
    expect(problems).toContainEqual({ file: 'task.toml', key, message: expect.stringContaining(message) as string });
  });

  it('takes anything as metadata', () => {
    const task = parseTask(withConfig('[metadata]\nanything = { goes = [1, "two"] }'));
    expect(task.config.metadata).toEqual({ anything: { goes: [1, 'two'] } });
  });

  it('turns unknown keys into notices where that is asked for', () => {
    const task = parseTask(withConfig('[agent]\ntimeout = 3'), { unknownKeys: 'notice' });
    expect(task.config.agent.timeout_sec).toBeUndefined();
    expect(task.notices.map(({ key }) => key)).toEqual(['agent.timeout']);
  });

  it('places a syntax error', () => {
    const [problem] = problemsOf(() => parseTask(taskFilesOf({ 'task.toml': '[task]\nname = \n' })));
    expect(problem?.message).toMatch(/^line 2, column \d+: /);
  });

  it('accepts the old name of the schema version', () => {
    expect(parseTask(withConfig('version = "1.0"')).config.schema_version).toBe('1.0');
  });

  it('takes a task from before there were names, as Terminal-Bench has them', () => {
    const config =
      'version = "1.0"\n[metadata]\ndifficulty = "easy"\n[environment]\nmemory = "2G"\nallow_internet = false\n';
    const task = parseTask(taskFilesOf({ 'task.toml': config }));
    expect(task.name).toBe('');
    expect(task.networkMode).toBe('no-network');
  });

  it('lets the network mode of the agent win', () => {
    expect(parseTask(taskFilesOf()).networkMode).toBe('public');
    const config = '[agent]\nnetwork_mode = "no-network"\n[environment]\nnetwork_mode = "public"';
    expect(parseTask(withConfig(config)).networkMode).toBe('no-network');
  });

  it('refuses hosts without an allowlist', () => {
    const problems = problemsOf(() => parseTask(withConfig('[environment]\nallowed_hosts = ["a.example"]')));
    expect(problems.map(({ key }) => key)).toEqual(['environment.allowed_hosts']);
  });

  it('carries declared artifacts, and the conventional directory, to a separate verifier', () => {
    const config = 'artifacts = ["/app", { source = "/data", exclude = ["*.tmp"] }]';
    const task = parseTask(
      taskFilesOf({
        'task.toml': `${config}\n[task]\nname = "a/b"\n[verifier]\nenvironment_mode = "separate"\n`,
      }),
    );
    expect(task.verifierMode).toBe('separate');
    expect(task.artifacts).toEqual([
      { source: '/logs/artifacts', exclude: [] },
      { source: '/app', exclude: [] },
      { source: '/data', exclude: ['*.tmp'] },
    ]);
  });

  it.each([
    ['[[steps]]\nname = "one"', {}, 'steps'],
    ['[environment]\nos = "Windows"', {}, 'environment.os'],
    ['[verifier.environment]\ndocker_image = "x"', {}, 'verifier.environment.docker_image'],
    ['[agent]\n', { 'environment/docker-compose.yaml': 'services: {}' }, null],
    ['[agent]\n', { 'tests/Dockerfile': 'FROM x' }, null],
  ])('says what it cannot run: %s %o', (config, files, key) => {
    const base = Object.fromEntries(withConfig(config).map(({ path, content }) => [path, content.toString()]));
    const act = (): unknown => parseTask(taskFilesOf({ ...base, ...files }));
    expect(act).toThrow(TaskUnsupportedError);
    expect(problemsOf(act)[0]?.key).toBe(key);
  });

  it('notes what it passes over', () => {
    const task = parseTask(withConfig('[agent]\nuser = "worker"\n[environment.healthcheck]\ncommand = "true"'));
    expect(task.notices.map(({ key }) => key)).toEqual(['agent.user', 'environment.healthcheck']);
  });
});

describe('loadTaskDirectory', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'espalier-tasks-'));
    for (const { path, content } of taskFilesOf()) {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      await writeFile(join(directory, path), content);
    }
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('reads files sorted, with executables kept as such', async () => {
    await chmod(join(directory, 'tests/test.sh'), 0o744);
    await chmod(join(directory, 'instruction.md'), 0o600);
    const { files } = await loadTaskDirectory(directory);
    expect(files.map(({ path, mode }) => [path, mode])).toEqual([
      ['environment/Dockerfile', 0o644],
      ['environment/value', 0o644],
      ['instruction.md', 0o644],
      ['solution/solve.sh', 0o644],
      ['task.toml', 0o644],
      ['tests/test.sh', 0o755],
    ]);
  });

  it('leaves out traces of tools', async () => {
    await mkdir(join(directory, 'tests/__pycache__'));
    await writeFile(join(directory, 'tests/__pycache__/x.pyc'), '');
    const { files } = await loadTaskDirectory(directory);
    expect(files.some(({ path }) => path.includes('__pycache__'))).toBe(false);
  });

  it('packs a link inside the task as its file and refuses one that leads out', async () => {
    await symlink('value', join(directory, 'environment/alias'));
    const { files } = await loadTaskDirectory(directory);
    expect(files.find(({ path }) => path === 'environment/alias')?.content.toString()).toBe('1\n');
    await symlink('/etc/hostname', join(directory, 'environment/escape'));
    await expect(loadTaskDirectory(directory)).rejects.toMatchObject({
      code: 'TASK_INVALID',
      problems: [{ file: 'environment/escape' }],
    });
  });

  it('names a directory that is not there', async () => {
    const missing = join(directory, 'absent');
    await expect(loadTaskDirectory(missing)).rejects.toThrow(`${missing} is not a valid task`);
  });
});
