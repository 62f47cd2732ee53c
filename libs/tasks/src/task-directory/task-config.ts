import { z } from 'zod';

/**
 * The schema of task.toml as Harbor 0.25 has it (`harbor.models.task.config.TaskConfig`), key for key, so that a task
 * which is valid there is valid here. Values are seconds and megabytes, as the file says.
 */

const ORG_NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]*\/[a-zA-Z0-9][a-zA-Z0-9._-]*$/;

const seconds = z.number().positive('must be a positive number of seconds');
const megabytes = z.int().positive('must be a positive number of megabytes');
const user = z.union([z.string(), z.int()], 'must be a user name or a numeric id');
const environmentVariables = z.record(z.string(), z.string('must be a string'));

const network = {
  network_mode: z.enum(['public', 'no-network', 'allowlist']).optional(),
  allowed_hosts: z.array(z.string()).optional(),
};

const healthcheck = z.object({
  command: z.string(),
  interval_sec: seconds.default(5),
  timeout_sec: seconds.default(30),
  start_period_sec: z.number().nonnegative().default(0),
  start_interval_sec: seconds.default(5),
  retries: z.int().nonnegative().default(3),
});

const artifact = z.object({
  source: z.string().refine((source) => !source.split('/').includes('..'), 'must not contain ".."'),
  destination: z.string().optional(),
  exclude: z.array(z.string()).default([]),
  service: z.string().optional(),
});

const artifacts = z
  .array(z.union([z.string(), artifact], 'must be a path or a table with "source"'))
  .default([])
  .transform((entries) =>
    entries.map((entry) => (typeof entry === 'string' ? artifact.parse({ source: entry }) : entry)),
  );

const mcpServer = z.object({
  name: z.string(),
  transport: z.enum(['stdio', 'sse', 'streamable-http', 'http']).default('sse'),
  url: z.string().optional(),
  command: z.string().optional(),
  args: z.array(z.string()).default([]),
  headers: z.record(z.string(), z.string()).default({}),
});

const environment = z.object({
  ...network,
  build_timeout_sec: seconds.default(600),
  docker_image: z.string().optional(),
  os: z
    .string()
    .transform((name) => name.toLowerCase())
    .pipe(z.enum(['linux', 'windows']))
    .default('linux'),
  cpus: z.number().positive().optional(),
  memory_mb: megabytes.optional(),
  storage_mb: megabytes.optional(),
  gpus: z.int().nonnegative().optional(),
  gpu_types: z.array(z.string()).optional(),
  tpu: z.object({ type: z.string().min(1), topology: z.string().regex(/^[1-9]\d*(x[1-9]\d*)+$/) }).optional(),
  mcp_servers: z.array(mcpServer).default([]),
  env: environmentVariables.default({}),
  skills_dir: z.string().optional(),
  healthcheck: healthcheck.optional(),
  workdir: z.string().startsWith('/', 'must be an absolute path').optional(),
  allow_internet: z.boolean().optional(),
  memory: z
    .string()
    .regex(/^\s*[\d.]+[GMK]\s*$/i, 'must be a size such as "512M" or "2G"')
    .optional(),
  storage: z
    .string()
    .regex(/^\s*[\d.]+[GMK]\s*$/i, 'must be a size such as "512M" or "2G"')
    .optional(),
});

const agent = z.object({ ...network, timeout_sec: seconds.optional(), user: user.optional() });

const collect = z.object({
  command: z.string(),
  service: z.string().default('main'),
  timeout_sec: seconds.default(60),
  user: user.optional(),
});

const verifier = z
  .object({
    ...network,
    timeout_sec: seconds.default(600),
    env: environmentVariables.default({}),
    user: user.optional(),
    environment_mode: z.enum(['shared', 'separate']).optional(),
    environment: environment.optional(),
    collect: z.array(collect).default([]),
  })
  .refine((value) => !(value.environment_mode === 'shared' && value.environment !== undefined), {
    path: ['environment_mode'],
    message: '"shared" contradicts [verifier.environment]; leave one of them out',
  });

const step = z.object({
  name: z.string(),
  agent: agent.prefault({}),
  verifier: verifier.prefault({}),
  min_reward: z.union([z.number(), z.record(z.string(), z.number())]).optional(),
  healthcheck: healthcheck.optional(),
  artifacts,
});

/** Schema of task.toml; unknown keys are dropped (and reported by {@link unknownKeys}). */
export const taskConfigSchema = z.object({
  schema_version: z.string().default('1.4'),
  source: z.string().optional(),
  multi_step_reward_strategy: z.enum(['mean', 'final']).optional(),
  // Optional in Harbor: tasks from before packages had names have no such table.
  task: z
    .object({
      name: z.string().regex(ORG_NAME, 'must have the form "org/name"'),
      version: z.string().min(1).optional(),
      description: z.string().default(''),
      authors: z.array(z.object({ name: z.string(), email: z.string().optional() })).default([]),
      keywords: z.array(z.string()).default([]),
    })
    .optional(),
  metadata: z.record(z.string(), z.unknown()).default({}),
  agent: agent.prefault({}),
  verifier: verifier.prefault({}),
  environment: environment.prefault({}),
  solution: z.object({ env: environmentVariables.default({}) }).prefault({}),
  steps: z.array(step).optional(),
  artifacts,
});

/** A parsed task.toml with every default filled in. */
export type TaskConfig = z.output<typeof taskConfigSchema>;
/** A path of the agent's sandbox that is carried into a separate verifier. */
export type TaskArtifact = z.output<typeof artifact>;
