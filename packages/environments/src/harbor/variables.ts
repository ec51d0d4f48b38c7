import { TaskError } from '@agentjet/core';

/** `${NAME}` and `${NAME:-instead}` in the variables of a task. */

const template = /^\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?\}$/s;

/** Lists the variables that are needed and that this process does not have. */
export function missingVariables(variables: Readonly<Record<string, string>>): readonly string[] {
  return Object.values(variables).flatMap((value) => {
    const [, name, instead] = template.exec(value) ?? [];
    return name !== undefined && instead === undefined && process.env[name] === undefined ? [name] : [];
  });
}

/** Fills in `${NAME}` and `${NAME:-instead}` from the variables of this process. Throws TaskError if one is not set. */
export function resolveVariables(variables: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [missing] = missingVariables(variables);
  if (missing !== undefined)
    throw new TaskError('bad_task', `The task needs the environment variable ${missing}, which is not set.`);
  return Object.fromEntries(
    Object.entries(variables).map(([key, value]) => {
      const [, name, instead] = template.exec(value) ?? [];
      return [key, name === undefined ? value : (process.env[name] ?? instead ?? '')];
    }),
  );
}
