export { bindSandbox, CommandNotRunError, type SandboxCalls } from './bind-sandbox.ts';
export {
  RewardError,
  TaskEnvironmentError,
  TaskInvalidError,
  TaskPackageError,
  TaskUnsupportedError,
  type RewardErrorCode,
  type TaskProblem,
} from './errors.ts';
export type {
  CommandRequest,
  CommandResult,
  DisposableSandbox,
  VerifierSandbox,
  WorkspaceSandbox,
} from './sandbox-port.ts';
export { loadTaskDirectory, readTaskFiles } from './task-directory/load-task.ts';
export { parseTask, type LoadedTask, type ParseTaskOptions } from './task-directory/parse-task.ts';
export type { TaskArtifact, TaskConfig } from './task-directory/task-config.ts';
export { fileAt, filesBelow, type TaskFile } from './task-directory/task-files.ts';
export { packFiles, packTask, sha256Of } from './task-package/pack-task.ts';
export { MAX_PACKAGE_BYTES, unpackFiles, unpackTask } from './task-package/unpack-task.ts';
export { taskFields, type TaskFields } from './submission.ts';
export {
  parseRewards,
  REWARD_JSON,
  REWARD_TEXT,
  scoreOf,
  VERIFIER_LOGS,
  type RewardFiles,
  type Rewards,
} from './verifier/reward.ts';
export { resolveEnvironment } from './verifier/task-environment.ts';
export {
  LOG_DIRECTORIES,
  TEST_OUTPUT,
  TESTS_DIRECTORY,
  verifyTask,
  type TestRun,
  type VerifierFailure,
  type VerifierResult,
  type VerifyOptions,
} from './verifier/verify-task.ts';
export {
  captureWorkspace,
  restoreWorkspace,
  snapshotPlan,
  WorkspaceError,
  type SnapshotPlan,
} from './workspace/snapshot.ts';
export { ORACLE_COMMAND, ORACLE_EXIT_CODE, ORACLE_LOG, SOLUTION_DIRECTORY, solutionFiles } from './proof/oracle.ts';
export {
  proveTask,
  type ProofSandboxes,
  type ProofTrial,
  type ProveOptions,
  type TaskProof,
} from './proof/prove-task.ts';
export { parseDockerfile } from './dockerfile/parse-dockerfile.ts';
export {
  DockerfileError,
  type DockerfilePlan,
  type DockerfileProblem,
  type DockerfileStep,
} from './dockerfile/plan.ts';
