import { createProjectGraphAsync } from '@nx/devkit';
import nx from '@nx/eslint-plugin';
import tseslint from 'typescript-eslint';

// Without a project graph the boundary rule warns and lets everything through: it is brought up to date first, whenever
// ESLint itself runs. (Nx's own plugin reads this file while it computes that graph: waiting for it there would never end.)
// The daemon is left out: nothing may stay behind after a lint.
if (/[\\/]eslint(\.js)?$/.test(process.argv[1] ?? '')) {
  process.env.NX_DAEMON = 'false';
  await createProjectGraphAsync({ exitOnError: true });
}

/**
 * Who may import whom: the tags of the packages (`nx.tags` in each package.json) and what each may depend on. Dependencies
 * point one way; specs may use the testing library on top.
 */
const layers = {
  contracts: [],
  avro: ['contracts'],
  store: ['contracts', 'avro'],
  log: ['contracts', 'avro'],
  processor: ['contracts', 'avro', 'log'],
  nest: ['contracts', 'avro', 'store', 'log', 'processor'],
  pure: ['contracts'],
  coordination: ['contracts', 'pure'],
  rollout: ['contracts', 'avro', 'store', 'pure', 'rollout'],
  audit: ['contracts', 'avro', 'store', 'log'],
  plane: ['contracts', 'avro', 'store', 'log'],
};
const libraries = Object.keys(layers);
layers.testing = libraries;
layers.app = libraries;

const boundaries = (more) => [
  'error',
  {
    allow: [],
    enforceBuildableLibDependency: true,
    depConstraints: Object.entries(layers).map(([layer, allowed]) => ({
      sourceTag: `layer:${layer}`,
      onlyDependOnLibsWithTags: [...allowed, ...more].map((tag) => `layer:${tag}`),
    })),
  },
];

export default [
  {
    ignores: [
      '**/dist',
      '**/node_modules',
      '.espalier',
      '.nx',
      'apps/console', // built by Vite, with a configuration of its own
      'libs/contracts/src/generated',
      'docs',
      'clients',
      'examples',
    ],
  },
  ...nx.configs['flat/base'],
  ...tseslint.configs.recommendedTypeChecked.map((config) => ({
    ...config,
    files: ['**/*.ts', '**/*.tsx'],
    ignores: ['**/*.config.ts'],
  })),
  {
    files: ['**/*.ts', '**/*.tsx'],
    ignores: ['**/*.config.ts'],
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    languageOptions: {
      parserOptions: { project: './tsconfig.lint.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@nx/enforce-module-boundaries': boundaries([]),
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'separate-type-imports' }],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    },
  },
  {
    // Nest injects by the classes themselves: a type-only import would leave nothing to inject.
    files: ['apps/*/src/**/*.ts', 'libs/nest/src/**/*.ts'],
    rules: { '@typescript-eslint/consistent-type-imports': 'off' },
  },
  {
    files: ['**/*.spec.ts'],
    rules: {
      '@nx/enforce-module-boundaries': boundaries(['testing']),
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  { files: ['test/**/*.ts'], rules: { '@nx/enforce-module-boundaries': 'off' } },
];
