import { ConfigError, findNearestKey, isJsonObject, TaskError, type JsonObject } from '@agentjet/core';

/**
 * `fields` names the column of each part of a task: `question`, `answers.text` for a part of a struct, or `answer|after:####` for
 * the text after the last such mark. A question is never guessed: a missing column is an error.
 */

/** Columns by the name in the task: `main_query`, `task_id`, `init_messages`, `metadata`, or any name in the task's metadata. */
export type Fields = Readonly<Record<string, string>>;

/** Takes a value out of a row. Throws TaskError if it does not exist. */
export type FieldSource = (row: JsonObject, where: () => string) => unknown;

type Step = (text: string, fail: (what: string, repair: string) => TaskError) => string;

const otherMark = 'Take the row out of the data, or name another mark in fields.';

const steps: Readonly<Record<string, (mark: string) => Step>> = {
  after: (mark) => (text, fail) => {
    const at = text.lastIndexOf(mark);
    if (at === -1) throw fail(`has no "${mark}"`, otherMark);
    return text.slice(at + mark.length).trim();
  },
  before: (mark) => (text, fail) => {
    const at = text.indexOf(mark);
    if (at === -1) throw fail(`has no "${mark}"`, otherMark);
    return text.slice(0, at).trim();
  },
};

/** Throws ConfigError `bad_fields`. */
export function parseFields(fields: Fields): Readonly<Record<string, FieldSource>> {
  return Object.fromEntries(Object.entries(fields).map(([name, spec]) => [name, parseField(name, spec)]));
}

function parseField(name: string, spec: string): FieldSource {
  const [column = '', ...parts] = spec.split('|');
  if (column.trim() === '') throw badField(name, spec, 'it names no column');
  const chain = parts.map((part) => parseStep(name, spec, part));
  return (row, where) => {
    const value = takeColumn(row, column.trim(), where);
    if (chain.length === 0) return value;
    const name = column.trim();
    const fail = (what: string, repair: string): TaskError =>
      new TaskError(
        'bad_task',
        `${where()}: column "${name}" ${what}: ${JSON.stringify(value)?.slice(0, 80)}. ${repair}`,
      );
    if (typeof value !== 'string')
      throw fail('is not a string', `To use it unchanged, write "${name}" in fields, without after and before.`);
    return chain.reduce((text, step) => step(text, fail), value);
  };
}

function parseStep(name: string, spec: string, part: string): Step {
  const at = part.indexOf(':');
  const [kind, mark] = [part.slice(0, Math.max(0, at)).trim(), part.slice(at + 1)];
  const make = Object.hasOwn(steps, kind) ? steps[kind] : undefined;
  if (make === undefined || mark === '') throw badField(name, spec, `"${part}" is not after:<mark> or before:<mark>`);
  return make(mark);
}

function badField(name: string, spec: string, what: string): ConfigError {
  return new ConfigError(
    'bad_fields',
    `fields.${name} is ${JSON.stringify(spec)}: ${what}. Write column, or column|after:<mark>.`,
  );
}

function takeColumn(row: JsonObject, column: string, where: () => string): unknown {
  if (Object.hasOwn(row, column)) return row[column];
  const path = column.split('.');
  const value = path.reduce<unknown>(
    (inner, part) =>
      (isJsonObject(inner) || Array.isArray(inner)) && Object.hasOwn(inner, part) ? Reflect.get(inner, part) : missing,
    row,
  );
  if (value !== missing) return value;
  const names = Object.keys(row);
  const nearest = findNearestKey(column, names);
  throw new TaskError(
    'missing_column',
    `${where()}: there is no column "${column}". The columns are ${names.join(', ')}.${nearest === undefined ? ' Name one of them in "fields".' : ` Did you mean "${nearest}"?`}`,
  );
}

const missing = Symbol('missing');
