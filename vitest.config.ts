import { defineConfig } from 'vitest/config';
import { decorators, fromSource } from './vitest.package.ts';

/**
 * Every test of the repository that Vitest runs, by tier: `npx vitest run --project unit`. What needs a broker, a sandbox
 * or another real part of its own and lies beside the code is called `*.integration.spec.ts`.
 */
const tier = (name: string, include: string[], exclude: string[], timeout: number) => ({
  plugins: [decorators],
  oxc: false as const,
  ...fromSource,
  test: {
    name,
    include,
    exclude: ['**/node_modules/**', '**/dist/**', ...exclude],
    testTimeout: timeout,
    hookTimeout: timeout,
  },
});

const besideCode = ['libs/*/src/**', 'apps/*/src/**'];

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      tier(
        'unit',
        besideCode.map((folder) => `${folder}/*.spec.ts`),
        ['**/*.integration.spec.ts'],
        30_000,
      ),
      tier(
        'integration',
        [...besideCode.map((folder) => `${folder}/*.integration.spec.ts`), 'test/integration/**/*.spec.ts'],
        [],
        120_000,
      ),
      tier('conformance', ['test/conformance/**/*.spec.ts', 'tools/**/*.spec.ts'], [], 120_000),
      tier('e2e', ['test/e2e/**/*.spec.ts'], [], 300_000),
      tier('chaos', ['test/chaos/**/*.spec.ts'], [], 600_000),
    ],
  },
});
