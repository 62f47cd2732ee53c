import { runInGroup } from './foreground.mjs';

/** Runs the tests of everything written in Go. */
export async function runGoTests(root) {
  const tally = goTally();
  const code = await runInGroup('go', ['test', '-json', './apps/...'], { cwd: root, env: process.env }, (line) => {
    const shown = tally.take(line);
    if (shown !== null) process.stdout.write(shown);
  });
  const counts = tally.counts();
  return counts.failed === 0 && code !== 0 ? { ...counts, failed: 1 } : counts;
}

/**
 * Counts the events of `go test -json`: every test that has no tests inside, and a package that failed without one (it did
 * not compile). `take` returns what a reader should see of a line: results of packages, and all that failed tests said.
 */
export function goTally() {
  const outcomes = new Map();
  const outputs = new Map();
  const failedPackages = new Set();
  const keyOf = ({ Package, Test }) => `${Package}/${Test ?? ''}`;
  return {
    take(line) {
      let event;
      try {
        event = JSON.parse(line);
      } catch {
        return `${line}\n`;
      }
      const { Action: action, Package: pkg, Test: test, Output: output } = event;
      if (action === 'output' || action === 'build-output') {
        if (test === undefined)
          return /^(ok|FAIL|---|\?|panic)/.test(output) || action === 'build-output' ? output : null;
        outputs.set(keyOf(event), (outputs.get(keyOf(event)) ?? '') + output);
        return null;
      }
      if (!['pass', 'fail', 'skip'].includes(action)) return null;
      if (test === undefined) {
        if (action === 'fail') failedPackages.add(pkg);
        return null;
      }
      outcomes.set(keyOf(event), action);
      return action === 'fail' ? (outputs.get(keyOf(event)) ?? null) : null;
    },
    counts() {
      const names = [...outcomes.keys()];
      const leaves = names.filter((name) => !names.some((other) => other.startsWith(`${name}/`)));
      const count = (action) => leaves.filter((name) => outcomes.get(name) === action).length;
      const silent = [...failedPackages].filter(
        (pkg) => !names.some((name) => name.startsWith(`${pkg}/`) && outcomes.get(name) === 'fail'),
      ).length;
      return { passed: count('pass'), failed: count('fail') + silent, skipped: count('skip') };
    },
  };
}
