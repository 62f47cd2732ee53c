#!/usr/bin/env node
import { appendFileSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CommandFailed } from './process.mjs';
import { progress } from './progress.mjs';
import { SetupError } from './setup-error.mjs';
import { bubblewrap } from './steps/bubblewrap.mjs';
import { goBinaries } from './steps/go-binaries.mjs';
import { kafkaJars } from './steps/kafka-jars.mjs';
import { nodeRuntime } from './steps/node-runtime.mjs';
import { packages } from './steps/packages.mjs';
import { requiredTools } from './steps/required-tools.mjs';
import { typescriptBuild } from './steps/typescript-build.mjs';

/** The root of the checkout. */
export const root = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** Steps of one chain follow each other, chains run side by side. */
const chains = [[packages, nodeRuntime, typescriptBuild], [kafkaJars], [goBinaries], [bubblewrap]];

const MAX_LOG_BYTES = 4 * 1024 * 1024;

/**
 * Brings a fresh clone to the point where everything can be started; takes seconds when that was done before.
 *
 * @returns {Promise<boolean>} false when a step failed; why was printed.
 */
export async function setup() {
  const log = join(root, '.espalier', 'logs', 'setup.log');
  mkdirSync(dirname(log), { recursive: true });
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) > MAX_LOG_BYTES) writeFileSync(log, '');
  appendFileSync(log, `\n=== setup, ${new Date().toISOString()} ===\n`);
  const context = { root, log };
  const report = progress();
  const runStep = (step) => report.step(step.title, () => step.run(context));
  try {
    await runStep(requiredTools);
    const results = await Promise.allSettled(
      chains.map(async (chain) => {
        for (const step of chain) await runStep(step);
      }),
    );
    const failures = results.filter(({ status }) => status === 'rejected').map(({ reason }) => reason);
    for (const failure of failures) explain(failure, log);
    return failures.length === 0;
  } catch (error) {
    explain(error, log);
    return false;
  } finally {
    report.close();
  }
}

function explain(error, log) {
  if (error instanceof SetupError) console.error(error.message);
  else if (error instanceof CommandFailed) {
    const tail = error.output.trimEnd().split('\n').slice(-30).join('\n');
    console.error(`\n${error.message}\n${tail}\nThe whole log: ${log}`);
  } else console.error(error);
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  process.exitCode = (await setup()) ? 0 : 1;
}
