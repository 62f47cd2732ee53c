import type { DisposableSandbox } from '../sandbox-port.ts';
import type { LoadedTask } from '../task-directory/parse-task.ts';
import { packFiles } from '../task-package/pack-task.ts';
import { resolveEnvironment } from '../verifier/task-environment.ts';
import { verifyTask, type VerifierResult, type VerifyOptions } from '../verifier/verify-task.ts';
import { captureWorkspace, restoreWorkspace, snapshotPlan } from '../workspace/snapshot.ts';
import { ORACLE_COMMAND, ORACLE_LOG, SOLUTION_DIRECTORY, solutionFiles } from './oracle.ts';

/** Makes fresh sandboxes of one task's image. */
export interface ProofSandboxes {
  open(): Promise<DisposableSandbox>;
}

/** One trial of a proof. */
export interface ProofTrial {
  readonly policy: 'oracle' | 'nothing';
  readonly repetition: number;
  readonly result: VerifierResult;
}

/** Whether a task measures what it claims to. */
export interface TaskProof {
  readonly name: string;
  readonly proven: boolean;
  /** Why not; empty when proven. */
  readonly reasons: readonly string[];
  readonly trials: readonly ProofTrial[];
}

/** Options of {@link proveTask}. */
export interface ProveOptions extends VerifyOptions {
  /** Trials of each policy; 2 by default, since a test that is not deterministic is seen only by repeating it. */
  readonly repetitions?: number;
  /** Time-out of the solution, milliseconds; `agent.timeout_sec`, else ten minutes, when absent. */
  readonly solutionTimeoutMs?: number;
}

/**
 * Proves a task: its solution scores 1, doing nothing scores 0, each every time. The work is done in one sandbox and
 * scored in another, as in a run, so that a task whose artifacts do not hold the work is found too.
 * Rejects when a sandbox cannot be opened or used before the tests run.
 */
export async function proveTask(
  task: LoadedTask,
  sandboxes: ProofSandboxes,
  options: ProveOptions = {},
): Promise<TaskProof> {
  const reasons: string[] = [];
  const trials: ProofTrial[] = [];
  if (!solutionFiles(task).some(({ path }) => path === 'solve.sh')) {
    return { name: task.name, proven: false, reasons: ['it has no solution/solve.sh'], trials };
  }
  for (const policy of ['oracle', 'nothing'] as const) {
    const expected = policy === 'oracle' ? 1 : 0;
    for (let repetition = 1; repetition <= (options.repetitions ?? 2); repetition += 1) {
      const { result, complaint } = await runTrial(task, sandboxes, policy, options);
      trials.push({ policy, repetition, result });
      const label = `${policy}, trial ${repetition}`;
      if (complaint !== null) reasons.push(`${label}: ${complaint}`);
      if (result.status !== 'SCORED') reasons.push(`${label}: ${result.failure.code}: ${result.failure.message}`);
      else if (result.score !== expected) reasons.push(`${label}: scored ${result.score} instead of ${expected}`);
    }
  }
  return { name: task.name, proven: reasons.length === 0, reasons, trials };
}

async function runTrial(
  task: LoadedTask,
  sandboxes: ProofSandboxes,
  policy: ProofTrial['policy'],
  options: ProveOptions,
): Promise<{ result: VerifierResult; complaint: string | null }> {
  const work = await sandboxes.open();
  let snapshot: Buffer;
  let plan: ReturnType<typeof snapshotPlan>;
  let complaint: string | null = null;
  try {
    if (policy === 'oracle') complaint = await runOracle(task, work, options);
    const { stdout } = await work.exec({ command: 'pwd', timeoutMs: 10_000 });
    plan = snapshotPlan(task, task.config.environment.workdir ?? (stdout.trim() || '/'));
    snapshot = await captureWorkspace(work, plan);
  } finally {
    await work.close();
  }
  const fresh = await sandboxes.open();
  try {
    await restoreWorkspace(fresh, plan, snapshot);
    return { result: await verifyTask(fresh, task, options), complaint };
  } finally {
    await fresh.close();
  }
}

async function runOracle(task: LoadedTask, sandbox: DisposableSandbox, options: ProveOptions): Promise<string | null> {
  await sandbox.putArchive(SOLUTION_DIRECTORY, await packFiles(solutionFiles(task)));
  const timeoutMs = options.solutionTimeoutMs ?? (task.config.agent.timeout_sec ?? 600) * 1_000;
  const env = resolveEnvironment(task.config.solution.env, options.values);
  const ended = await sandbox.exec({ command: ORACLE_COMMAND, env, timeoutMs });
  if (ended.exitCode === 0) return null;
  if (ended.timedOut) return `the solution did not end within ${timeoutMs} ms`;
  return `the solution ended with ${ended.exitCode ?? 'a signal'} (see ${ORACLE_LOG})`;
}
