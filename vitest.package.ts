import swc from 'unplugin-swc';
import { defineConfig } from 'vitest/config';

/**
 * One Vitest configuration for every package: decorators with metadata through swc (Vite's own transformer drops them),
 * and `@espalier/*` resolved to sources, so that tests need no build.
 */
export const decorators = swc.vite({
  tsconfigFile: false,
  module: { type: 'es6' },
  jsc: {
    target: 'es2024',
    keepClassNames: true,
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
  },
});

export const fromSource = {
  resolve: { conditions: ['@espalier/source'] },
  ssr: { resolve: { conditions: ['@espalier/source'] } },
};

export default defineConfig({
  plugins: [decorators],
  oxc: false,
  ...fromSource,
  test: { include: ['src/**/*.spec.ts'], passWithNoTests: true, testTimeout: 30_000 },
});
