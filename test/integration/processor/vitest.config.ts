import { defineConfig } from 'vitest/config';
import { decorators, fromSource } from '../../../vitest.package.ts';

/** One real broker for the suite; every test has a prefix of its own on it. */
export default defineConfig({
  plugins: [decorators],
  oxc: false,
  ...fromSource,
  test: {
    root: import.meta.dirname,
    include: ['*.spec.ts'],
    globalSetup: ['./broker.ts'],
    testTimeout: 90_000,
    hookTimeout: 120_000,
    fileParallelism: false,
  },
});
