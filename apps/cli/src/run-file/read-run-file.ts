import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { RunConfig } from '@espalier/contracts';
import { LineCounter, parseDocument } from 'yaml';
import { CliError } from '../errors.ts';
import { problemsOf, type FileProblem } from './problems.ts';
import { runConfigOf } from './run-config.ts';
import { runFileSchema, type RunFile } from './run-file-schema.ts';

/** A run file that cannot be used; lists every problem with its line. */
export class RunFileError extends CliError {
  readonly problems: readonly FileProblem[];
  constructor(path: string, problems: readonly FileProblem[]) {
    const lines = problems.map(({ key, line, message }) => {
      const where = line === null ? path : `${path}:${line}`;
      return `  ${where}: ${key === '' ? '' : `${key} `}${message}`;
    });
    super('CLI_RUN_FILE', `the run file is not valid:\n${lines.join('\n')}`);
    this.problems = problems;
  }
}

/** A run as read from a file. */
export interface RunDefinition {
  /** Absolute path of the file. */
  readonly path: string;
  /** Given in the file; null when the command has to choose one. */
  readonly runId: string | null;
  readonly config: RunConfig;
  readonly tasks: NonNullable<RunFile['tasks']>;
}

/** Reads and validates a run file. Throws {@link RunFileError}. */
export async function readRunFile(file: string): Promise<RunDefinition> {
  const path = resolve(file);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new CliError(
      'CLI_RUN_FILE',
      `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  return { path, ...parseRunFile(text, file) };
}

/** Parses the text of a run file; `name` appears in errors. Throws {@link RunFileError}. */
export function parseRunFile(text: string, name: string): Omit<RunDefinition, 'path'> {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const broken = [...document.errors, ...document.warnings].map(({ message, pos }) => ({
    key: '',
    line: lines.linePos(pos[0]).line,
    message: message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '') ?? message,
  }));
  if (broken.length > 0) throw new RunFileError(name, broken);
  const value: unknown = document.toJS() ?? {};
  const parsed = runFileSchema.safeParse(value);
  if (!parsed.success) throw new RunFileError(name, problemsOf(parsed.error.issues, document, lines));
  const config = runConfigOf(parsed.data);
  const problems = contradictions(parsed.data, config);
  if (problems.length > 0) {
    const placed = problems.map(([key, message]) => ({ key, message, line: keyLine(key, document, lines) }));
    throw new RunFileError(name, placed);
  }
  return { runId: parsed.data.run ?? null, config, tasks: parsed.data.tasks ?? [] };
}

const keyLine = (key: string, document: ReturnType<typeof parseDocument>, lines: LineCounter): number | null =>
  problemsOf([{ code: 'custom', path: key.split('.'), message: '', input: undefined }], document, lines)[0]?.line ??
  null;

/** What is wrong in keys that are right by themselves. */
function contradictions(file: RunFile, config: RunConfig): (readonly [string, string])[] {
  const found: (readonly [string, string])[] = [];
  const { group, batch, target } = config;
  if (file.harness !== undefined && file.harnesses !== undefined)
    found.push(['harness', 'and harnesses are both given; keep one']);
  if (file.group?.budget !== undefined && file.group.budget < group.size)
    found.push(['group.budget', `${file.group.budget} is less than group.size ${group.size}`]);
  if (group.rho_min > group.rho_max)
    found.push(['group.rho_min', `${group.rho_min} is above rho_max ${group.rho_max}`]);
  if (group.stride > group.budget) found.push(['group.stride', `${group.stride} is above the budget ${group.budget}`]);
  if (config.purpose === 'TRAIN' && batch.size % group.size !== 0)
    found.push(['batch.size', `${batch.size} is not a multiple of group.size ${group.size}`]);
  if (config.repeat_tasks && target.batches === null && target.rollouts === null && target.pass_rate === null)
    found.push(['repeat_tasks', 'needs a target, or the run would never end']);
  if (!config.scorers.some((scorer) => scorer.required)) found.push(['scorers', 'need at least one required scorer']);
  return found;
}
