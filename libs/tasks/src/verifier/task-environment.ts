import { TaskEnvironmentError } from '../errors.ts';

const TEMPLATE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Fills `${VAR}` and `${VAR:-default}` in an `env` table of task.toml. Only what `values` gives is visible: a task
 * never reads the environment of the machine that runs it unless its owner passes it on.
 * @throws {TaskEnvironmentError} when a variable has neither value nor default.
 */
export function resolveEnvironment(
  table: Readonly<Record<string, string>>,
  values: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(table).map(([name, template]) => [
      name,
      template.replaceAll(TEMPLATE, (_, variable: string, fallback: string | undefined) => {
        const value = values[variable] ?? fallback;
        if (value === undefined) throw new TaskEnvironmentError(name, variable);
        return value;
      }),
    ]),
  );
}
