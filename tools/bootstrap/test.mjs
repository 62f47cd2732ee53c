#!/usr/bin/env node
import { root, setup } from './setup.mjs';
import { runGoTests } from './tests/go-tests.mjs';
import { add, none, summary } from './tests/totals.mjs';
import { runVitest } from './tests/vitest-project.mjs';

/**
 * `npm test [-- stage ...]`: setup, then every stage (or those named), whatever the others say. The last line is
 * `N passed, N failed`, with `, N skipped` only if there are any; the exit code is 0 only when nothing failed.
 */
const stages = [
  { name: 'unit', run: () => runVitest(root, 'unit') },
  { name: 'go', run: () => runGoTests(root) },
  { name: 'conformance', run: () => runVitest(root, 'conformance') },
  { name: 'integration', run: () => runVitest(root, 'integration', { serial: true }) },
  { name: 'e2e', run: () => runVitest(root, 'e2e', { serial: true }) },
];

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !stages.some((stage) => stage.name === name));
if (unknown.length > 0) {
  console.error(`No such stage: ${unknown.join(', ')}. There are: ${stages.map(({ name }) => name).join(', ')}.`);
  process.exit(2);
}
if (!(await setup())) {
  console.log(summary({ ...none, failed: 1 }));
  process.exit(1);
}

let total = none;
for (const { name, run } of stages) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  const begun = Date.now();
  console.log(`\n=== ${name} ===`);
  const counts = await run();
  total = add(total, counts);
  console.log(`=== ${name}: ${summary(counts)} (${((Date.now() - begun) / 1_000).toFixed(1)} s) ===`);
}
console.log(`\n${summary(total)}`);
process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;
