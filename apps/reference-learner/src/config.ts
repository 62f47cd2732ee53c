import { resolve } from 'node:path';
import { z } from 'zod';
import { DEFAULT_GRADIENT } from './training/policy-gradient.ts';

const url = z.url().transform((value) => value.replace(/\/+$/, ''));

/** Settings of the reference learner beside those of every service. */
export const settings = z.object({
  /** `policy` serves the model, `learner` trains it, `both` does both in one process. */
  ESPALIER_ROLE: z.enum(['policy', 'learner', 'both']).default('both'),
  /** Checkpoints and the served version. */
  ESPALIER_STATE_DIR: z
    .string()
    .default('.espalier/reference-learner')
    .transform((path) => resolve(path)),
  ESPALIER_GATEWAY_URL: url.default('http://127.0.0.1:4104'),
  /** Policy server that role `learner` loads new versions into. */
  ESPALIER_POLICY_URL: url.default('http://127.0.0.1:4107'),
  /** When set, `POST /admin/load` asks for it as a bearer token, and the learner sends it. */
  ESPALIER_POLICY_ADMIN_KEY: z.string().min(1).optional(),
  /** Train this run alone; otherwise the newest active training run of the model. */
  ESPALIER_RUN: z.string().optional(),
  /** Model name under which the policy is asked for. */
  ESPALIER_MODEL: z.string().min(1).default('reference'),
  ESPALIER_LEARNING_RATE: z.coerce.number().min(0).max(100).default(DEFAULT_GRADIENT.learningRate),
  /** PPO clip. */
  ESPALIER_CLIP: z.coerce.number().positive().max(10).default(DEFAULT_GRADIENT.clip),
  /** Controls under which the pass rate must not rise: `shuffled` rewards, or learning `off`. */
  ESPALIER_CONTROL: z.enum(['none', 'shuffled', 'off']).default('none'),
  /** Long poll for the next batch, seconds. */
  ESPALIER_POLL_SECONDS: z.coerce.number().int().min(0).max(300).default(20),
});

export type ReferenceLearnerConfig = z.output<typeof settings>;
