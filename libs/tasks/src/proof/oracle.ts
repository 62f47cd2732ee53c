import type { LoadedTask } from '../task-directory/parse-task.ts';
import { filesBelow, type TaskFile } from '../task-directory/task-files.ts';

/** Where the solution lies while it runs. */
export const SOLUTION_DIRECTORY = '/solution';
/** What the solution printed. */
export const ORACLE_LOG = '/logs/agent/oracle.txt';
/** The solution's exit code, written only when it is not 0. */
export const ORACLE_EXIT_CODE = '/logs/agent/exit-code.txt';

/** Files of the reference solution, with paths relative to {@link SOLUTION_DIRECTORY}. Empty when the task has none. */
export const solutionFiles = (task: Pick<LoadedTask, 'files'>): TaskFile[] => filesBelow(task.files, 'solution');

/** Runs the uploaded solution in the current directory; ends with its exit code. */
export const ORACLE_COMMAND = [
  'mkdir -p /logs/agent',
  `chmod +x ${SOLUTION_DIRECTORY}/solve.sh`,
  `${SOLUTION_DIRECTORY}/solve.sh > ${ORACLE_LOG} 2>&1`,
  'code=$?',
  `if [ "$code" -ne 0 ]; then echo "$code" > ${ORACLE_EXIT_CODE}; fi`,
  'exit "$code"',
].join('\n');
