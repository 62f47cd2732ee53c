import type { ObjectRef } from '@espalier/contracts';
import type { ObjectStore } from '@espalier/objects';
import { filesBelow, unpackTask } from '@espalier/tasks';
import type { Reference } from './prompt.ts';
import { shortened } from './transcript.ts';

/** Most characters of the reference solution that a judge is shown. */
const SOLUTION_CHARS = 3_000;

/** A task's reference solution and the tests it has to fix; null for a task without a solution. */
export async function referenceOf(objects: ObjectStore, taskPackage: ObjectRef): Promise<Reference | null> {
  const task = await unpackTask(await objects.get(taskPackage));
  const files = filesBelow(task.files, 'solution');
  if (files.length === 0) return null;
  const solution = files.map(({ path, content }) => `--- ${path}\n${content.toString('utf8')}`).join('\n');
  const named: unknown = task.config.metadata?.['fail_to_pass'];
  const tests = Array.isArray(named) ? named.filter((name): name is string => typeof name === 'string') : [];
  return { solution: shortened(solution, SOLUTION_CHARS), tests };
}
