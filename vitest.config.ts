import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { decorators, fromSource } from './vitest.package.ts';

type TestOptions = NonNullable<TestProjectInlineConfiguration['test']>;

/**
 * Every test of the repository that Vitest runs, by tier: `npx vitest run --project unit`. What needs a broker, a sandbox
 * or another real part of its own and lies beside the code is called `*.integration.spec.ts`.
 */
const tier = (name: string, include: string[], timeout: number, more: TestOptions = {}) => ({
  plugins: [decorators],
  oxc: false as const,
  ...fromSource,
  test: {
    name,
    include,
    testTimeout: timeout,
    hookTimeout: timeout,
    ...more,
    exclude: ['**/node_modules/**', '**/dist/**', ...(more.exclude ?? [])],
  },
});

const beside = (pattern: string): string[] => [`libs/*/src/**/${pattern}`, `apps/*/src/**/${pattern}`];

/** A tier that needs a broker finds its address by `inject('brokers')`; every test uses a topic prefix of its own on it. */
const broker: TestOptions = { globalSetup: ['test/integration/kafka/broker.ts'] };

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      tier('unit', beside('*.spec.ts'), 30_000, { exclude: ['**/*.integration.spec.ts'] }),
      tier('integration', [...beside('*.integration.spec.ts'), 'test/integration/**/*.spec.ts'], 120_000, broker),
      tier('conformance', ['test/conformance/**/*.spec.ts', 'tools/**/*.spec.ts'], 120_000),
      tier('e2e', ['test/e2e/**/*.spec.ts'], 300_000),
      tier('chaos', ['test/chaos/**/*.spec.ts'], 900_000),
    ],
  },
});
