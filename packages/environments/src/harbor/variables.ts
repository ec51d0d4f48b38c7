import { TaskError } from '@agentjet/core';

/** `${NAME}` and `${NAME:-instead}` in the variables of a task, and in the headers of its tool servers. */

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

/** A value of a header may have several of them, with other text around. */
const embedded = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** Lists the variables that a string with embedded names needs and that this process does not have. */
export function missingEmbedded(text: string): readonly string[] {
  const names = [...text.matchAll(embedded)].filter(([, , instead]) => instead === undefined).map(([, name]) => name);
  return names.filter((name) => name !== undefined && process.env[name] === undefined) as readonly string[];
}

/** Returns whether a string has a dollar sign with a brace that names no variable. */
export const hasBadTemplate = (text: string): boolean => text.replace(embedded, ' ').includes('${');

/** Fills in all names that a string has. */
export const resolveEmbedded = (text: string): string =>
  text.replace(embedded, (_all, name: string, instead: string | undefined) => process.env[name] ?? instead ?? '');

/** Lists the names of a string, and what is taken instead of each. */
export function listEmbedded(text: string): readonly { readonly name: string; readonly instead: string }[] {
  return [...text.matchAll(embedded)].map(([, name = '', instead = '']) => ({ name, instead }));
}
