import { RewardError, TaskEnvironmentError } from '../errors.ts';
import type { CommandResult, VerifierSandbox } from '../sandbox-port.ts';
import type { LoadedTask } from '../task-directory/parse-task.ts';
import { filesBelow } from '../task-directory/task-files.ts';
import { packFiles } from '../task-package/pack-task.ts';
import { parseRewards, REWARD_JSON, REWARD_TEXT, scoreOf, VERIFIER_LOGS, type Rewards } from './reward.ts';
import { resolveEnvironment } from './task-environment.ts';

/** Where the tests lie while they run. */
export const TESTS_DIRECTORY = '/tests';
/** What the test script printed. */
export const TEST_OUTPUT = `${VERIFIER_LOGS}/test-stdout.txt`;
/** Directories that Harbor promises to tasks. */
export const LOG_DIRECTORIES = ['/logs/agent', VERIFIER_LOGS, '/logs/artifacts'] as const;

const SETUP_TIMEOUT_MS = 60_000;
/** Longest part of the test output that is kept, bytes: its end, where the verdict stands. */
const OUTPUT_TAIL_BYTES = 32_768;
/** A reward file is a number or a small table. */
const MAX_REWARD_BYTES = 65_536;

/**
 * Why there is no score. `INFRA`: the sandbox or the way to it; another try may succeed. `SUSPECT`: the tests ran and
 * gave no reward, because the task is broken or because the work under test broke them; a proof of the task tells which.
 */
export interface VerifierFailure {
  readonly class: 'INFRA' | 'SUSPECT';
  readonly code: string;
  readonly message: string;
  readonly stage: 'verifier';
  readonly retryable: boolean;
}

/** What the verifier said. A failure is never a score of 0. */
export type VerifierResult =
  | { readonly status: 'SCORED'; readonly score: number; readonly rewards: Rewards; readonly run: TestRun }
  | { readonly status: 'TIMEOUT' | 'INVALID'; readonly failure: VerifierFailure; readonly run: TestRun }
  | { readonly status: 'INFRA_ERROR'; readonly failure: VerifierFailure; readonly run: TestRun | null };

/** How the test script ran; its exit code is a curiosity, never a verdict. */
export interface TestRun {
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  readonly durationMs: number;
  /** The end of what it printed. */
  readonly output: string;
}

/** Options of {@link verifyTask}. */
export interface VerifyOptions {
  /** Time-out of the test script, milliseconds; task.toml's `verifier.timeout_sec` when absent. */
  readonly timeoutMs?: number;
  /** Which reward of a reward.json is the score. */
  readonly rewardKey?: string;
  /** Values for `${VAR}` in the task's `verifier.env`. */
  readonly values?: Readonly<Record<string, string>>;
  /** Clock for durations, milliseconds. */
  readonly now?: () => number;
}

/**
 * Runs the hidden tests of a task in a sandbox that already holds the finished work, as Harbor's verifier does: stale
 * rewards are removed, tests/ is put at /tests (nothing that lay there survives), /tests/test.sh runs, a reward file is read.
 * Resolves with a failure where there is no score; rejects only on a defect of the caller.
 */
export async function verifyTask(
  sandbox: VerifierSandbox,
  task: Pick<LoadedTask, 'config' | 'files'>,
  options: VerifyOptions = {},
): Promise<VerifierResult> {
  const now = options.now ?? (() => performance.now());
  const timeoutMs = options.timeoutMs ?? task.config.verifier.timeout_sec * 1_000;
  let run: TestRun | null = null;
  try {
    const env = resolveEnvironment(task.config.verifier.env, options.values);
    await prepare(sandbox, task);
    const startedAt = now();
    const ended = await sandbox.exec({
      command: `${TESTS_DIRECTORY}/test.sh > ${TEST_OUTPUT} 2>&1`,
      env,
      timeoutMs,
    });
    run = { ...verdictless(ended), durationMs: Math.round(now() - startedAt), output: await readOutput(sandbox) };
    if (run.timedOut) {
      const message = `The tests did not end within ${timeoutMs} ms`;
      return { status: 'TIMEOUT', failure: suspect('VERIFIER_TIMEOUT', message), run };
    }
    const rewards = parseRewards({
      json: await readReward(sandbox, REWARD_JSON),
      text: await readReward(sandbox, REWARD_TEXT),
    });
    return { status: 'SCORED', score: scoreOf(rewards, options.rewardKey), rewards, run };
  } catch (error) {
    if (error instanceof RewardError && run !== null) {
      const message = `${error.message}; the test script ended with ${run.exitCode ?? 'a signal'}`;
      return { status: 'INVALID', failure: suspect(error.code, message), run };
    }
    if (error instanceof TaskEnvironmentError) {
      return { status: 'INFRA_ERROR', failure: { ...infra(error), code: error.code, retryable: false }, run };
    }
    return { status: 'INFRA_ERROR', failure: infra(error), run };
  }
}

async function prepare(sandbox: VerifierSandbox, task: Pick<LoadedTask, 'files'>): Promise<void> {
  await mustSucceed(
    sandbox,
    `mkdir -p ${LOG_DIRECTORIES.join(' ')} && rm -rf -- ${REWARD_JSON} ${REWARD_TEXT} ${TEST_OUTPUT} && rm -rf -- ${TESTS_DIRECTORY}`,
  );
  await sandbox.putArchive(TESTS_DIRECTORY, await packFiles(filesBelow(task.files, 'tests')));
  await mustSucceed(sandbox, `chmod +x ${TESTS_DIRECTORY}/test.sh`);
}

/** Thrown when a step around the tests fails; the tests themselves have not been judged. */
class VerifierSetupError extends Error {
  readonly code = 'VERIFIER_SETUP';
  readonly retryable = true;
}

async function mustSucceed(sandbox: VerifierSandbox, command: string): Promise<string> {
  // The image's working directory may be gone with the work under test; these steps do not depend on it.
  const result = await sandbox.exec({ command, cwd: '/', timeoutMs: SETUP_TIMEOUT_MS });
  if (result.exitCode === 0) return result.stdout;
  const how = result.timedOut ? 'timed out' : `ended with ${result.exitCode ?? 'a signal'}`;
  throw new VerifierSetupError(`\`${command}\` ${how}: ${result.stderr.trim().slice(0, 300)}`);
}

/** The file's text, or null when there is no such regular file. Asks first, so that a client's own way of saying "not found" does not matter. */
async function readReward(sandbox: VerifierSandbox, path: string): Promise<string | null> {
  const size = (await mustSucceed(sandbox, `if [ -f ${path} ]; then wc -c < ${path}; fi`)).trim();
  if (size === '') return null;
  if (Number(size) > MAX_REWARD_BYTES) {
    throw new RewardError('REWARD_UNPARSABLE', `${path} has ${size} bytes, more than ${MAX_REWARD_BYTES}`);
  }
  return Buffer.from(await sandbox.getFile(path)).toString('utf8');
}

async function readOutput(sandbox: VerifierSandbox): Promise<string> {
  return mustSucceed(sandbox, `if [ -f ${TEST_OUTPUT} ]; then tail -c ${OUTPUT_TAIL_BYTES} ${TEST_OUTPUT}; fi`);
}

const verdictless = ({ exitCode, timedOut }: CommandResult): Pick<TestRun, 'exitCode' | 'timedOut'> => ({
  exitCode,
  timedOut,
});

const suspect = (code: string, message: string): VerifierFailure => ({
  class: 'SUSPECT',
  code,
  message: message.slice(0, 1_000),
  stage: 'verifier',
  retryable: true,
});

function infra(error: unknown): VerifierFailure {
  const code = error instanceof VerifierSetupError ? error.code : 'VERIFIER_SANDBOX';
  const message = error instanceof Error ? error.message : String(error);
  return { class: 'INFRA', code, message: message.slice(0, 1_000), stage: 'verifier', retryable: true };
}
