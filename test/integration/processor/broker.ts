import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedKafka } from '@espalier/local-plane';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  export interface ProvidedContext {
    brokers: string[];
  }
}

/** Starts a broker for the suite, unless ESPALIER_TEST_BROKERS names one. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['ESPALIER_TEST_BROKERS'];
  if (given !== undefined && given !== '') {
    project.provide('brokers', given.split(','));
    return () => Promise.resolve();
  }
  const dir = mkdtempSync(join(tmpdir(), 'espalier-kafka-'));
  const kafka = new EmbeddedKafka({ dir });
  await kafka.start();
  project.provide('brokers', kafka.brokers);
  return async () => {
    await kafka.stop();
    rmSync(dir, { recursive: true, force: true });
  };
}
