import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { nodeBinary, nodeEnvironment } from '../steps/node-runtime.mjs';
import { runInGroup } from './foreground.mjs';

/**
 * Runs one project of the root's Vitest configuration.
 *
 * @param {{ serial?: boolean }} [options] `serial`: one file after another, for tests that each start half a plane.
 */
export async function runVitest(root, project, { serial = false } = {}) {
  const results = join(root, '.espalier', 'test-results', `${project}.json`);
  mkdirSync(join(results, '..'), { recursive: true });
  rmSync(results, { force: true });
  const code = await runInGroup(
    nodeBinary(root),
    [
      ...['--disable-warning=TimeoutNegativeWarning', join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run'],
      ...['--project', project, '--passWithNoTests', '--reporter=default', '--reporter=json'],
      ...[`--outputFile.json=${results}`, ...(serial ? ['--no-file-parallelism'] : [])],
    ],
    { cwd: root, env: { ...nodeEnvironment(root), FORCE_COLOR: process.stdout.isTTY ? '1' : '0' } },
  );
  if (!existsSync(results)) return { passed: 0, failed: code === 0 ? 0 : 1, skipped: 0 };
  return countsOf(JSON.parse(readFileSync(results, 'utf8')), code);
}

/** Sums a JSON report. A file that failed without a failed test (it did not load) counts as one failure. */
export function countsOf(report, code) {
  const broken = report.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  ).length;
  const failed = report.numFailedTests + broken;
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && code !== 0 ? 1 : failed, // an error outside of any test
    skipped: report.numPendingTests + report.numTodoTests,
  };
}
