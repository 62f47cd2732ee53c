import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { planeDir } from '@espalier/local-plane';
import { z } from 'zod';
import { CliError } from './errors.ts';

/** Flags that every command takes; they win over the environment. */
export interface GlobalFlags {
  readonly json?: boolean;
  readonly dir?: string;
  readonly brokers?: string;
  readonly prefix?: string;
}

/** Where the command works. */
export interface CliConfig {
  /** Folder of the one-machine plane. */
  readonly dir: string;
  /** Brokers named by flag or environment; null: those of the plane in `dir`. */
  readonly brokers: readonly string[] | null;
  readonly prefix: string | null;
  readonly profile: 'embedded' | 'production';
  /** Object store URL. */
  readonly objects: string;
  readonly sandboxUrl: string | null;
  readonly sandboxApiKey: string | null;
  readonly json: boolean;
}

const environmentSchema = z.object({
  ESPALIER_DIR: z.string().min(1).optional(),
  ESPALIER_KAFKA_BROKERS: z.string().min(1).optional(),
  ESPALIER_PREFIX: z.string().min(1).optional(),
  ESPALIER_PROFILE: z.enum(['embedded', 'production']).default('embedded'),
  ESPALIER_OBJECTS: z.url().optional(),
  ESPALIER_SANDBOX_URL: z.url().optional(),
  ESPALIER_SANDBOX_API_KEY: z.string().min(1).optional(),
});

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

/** Reads flags and environment. Throws `CLI_USAGE` naming every bad key. */
export function readConfig(flags: GlobalFlags, environment: NodeJS.ProcessEnv): CliConfig {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = environmentSchema.safeParse(given);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new CliError('CLI_USAGE', `environment: ${problems.join('; ')}`);
  }
  const env = parsed.data;
  const dir = resolve(flags.dir ?? env.ESPALIER_DIR ?? planeDir());
  const brokers = listOf(flags.brokers ?? env.ESPALIER_KAFKA_BROKERS ?? '');
  return {
    dir,
    brokers: brokers.length > 0 ? brokers : null,
    prefix: flags.prefix ?? env.ESPALIER_PREFIX ?? null,
    profile: env.ESPALIER_PROFILE,
    objects: env.ESPALIER_OBJECTS ?? pathToFileURL(join(dir, 'objects')).href,
    sandboxUrl: env.ESPALIER_SANDBOX_URL ?? null,
    sandboxApiKey: env.ESPALIER_SANDBOX_API_KEY ?? null,
    json: flags.json ?? false,
  };
}
