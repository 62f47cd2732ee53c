import { ORACLE_COMMAND, SOLUTION_DIRECTORY, solutionFiles } from '@espalier/tasks';
import { z } from 'zod';
import { HarnessConfigError } from '../errors.ts';
import type { Harness, HarnessExit, HarnessInput, HarnessOutcome, HarnessPlan } from '../harness.ts';
import { parseOptions } from '../options.ts';
import { abnormal, failed, submitted, tail } from '../outcomes.ts';

const schema = z.strictObject({});

/** Runs the task's own solution and asks no model: what proves a task, and what shows that a plane works. */
export const oracle: Harness = {
  name: 'oracle',
  version: '1',
  payloads: [],
  callsModel: false,
  adoptable: true,
  options: (configJson) => parseOptions('oracle', schema, configJson),

  plan(input: HarnessInput): HarnessPlan {
    parseOptions('oracle', schema, input.configJson);
    const solution = solutionFiles({ files: input.taskFiles });
    if (!solution.some(({ path }) => path === 'solve.sh')) {
      throw new HarnessConfigError('oracle', 'the task has no solution/solve.sh');
    }
    return {
      files: solution.map(({ path, content, mode }) => ({ path: `${SOLUTION_DIRECTORY}/${path}`, content, mode })),
      argv: ['bash', '-c', ORACLE_COMMAND],
      env: { ...input.solutionEnv },
      cwd: input.workdir,
    };
  },

  outcome(exit: HarnessExit): HarnessOutcome {
    const early = abnormal('The solution', exit);
    if (early) return early;
    if (exit.exitCode === 0) return submitted;
    // A solution that fails is a broken task, not a policy that did badly.
    const message = `The solution ended with exit code ${exit.exitCode}${tail(exit)}`;
    return failed('SUSPECT', 'HARNESS_CRASH', 'ORACLE_FAILED', message, false);
  },
};
