import { isJsonObject, parseJson, TaskError, type JsonObject, type Task } from '@agentjet/core';
import { parseFields, type Fields, type FieldSource } from './fields.js';

/** Converts a row to a task. Throws a TaskError that begins with the place of the row. */
export type RowToTask = (row: unknown, where: () => string, rowNumber: number) => Task;

/**
 * Without `fields`, rows are in our own format: `task_id`, `main_query`, `init_messages` and `metadata` (by default the whole
 * row). With `fields`, each part names its column, and ids become `<idPrefix>/<id column or row number>`.
 */
export function createRowToTask(fields: Fields, idPrefix: string): RowToTask {
  if (Object.keys(fields).length === 0) return (row, where) => toOwnTask(checkRow(row, where), where);
  const sources = parseFields(fields);
  return (row, where, rowNumber) => toMappedTask(checkRow(row, where), { sources, idPrefix, where, rowNumber });
}

function checkRow(value: unknown, where: () => string): JsonObject {
  if (isJsonObject(value)) return value;
  throw new TaskError(
    'bad_task',
    `${where()}: ${JSON.stringify(value)?.slice(0, 60)} is not an object. Write { "task_id": ..., "main_query": ... }.`,
  );
}

function toOwnTask(row: JsonObject, where: () => string): Task {
  const hint = Object.hasOwn(row, 'main_query') || Object.hasOwn(row, 'init_messages') ? '' : columnsHint(row);
  const taskId = parseTaskId(row['task_id'], where, hint);
  const mainQuery = parseText(row['main_query'], 'main_query', where);
  const initMessages = parseMessages(row['init_messages'], where);
  if (mainQuery === '' && initMessages.length === 0)
    throw new TaskError(
      'bad_task',
      `${where()}: task "${taskId}" has neither main_query nor init_messages. Give it one of them.${hint}`,
    );
  return { taskId, mainQuery, initMessages, metadata: parseMetadata(row['metadata'] ?? row, where) };
}

function columnsHint(row: JsonObject): string {
  const names = Object.keys(row);
  if (names.length === 0) return '';
  const example = names.find((name) => name !== 'task_id' && typeof row[name] === 'string') ?? names[0];
  return ` Its columns are ${names.slice(0, 20).join(', ')}: if one of them is the question, name it with "fields", such as { main_query: ${example} }.`;
}

type Mapping = {
  readonly sources: Readonly<Record<string, FieldSource>>;
  readonly idPrefix: string;
  readonly where: () => string;
  readonly rowNumber: number;
};

function toMappedTask(row: JsonObject, { sources, idPrefix, where, rowNumber }: Mapping): Task {
  const { task_id: id, main_query: query, init_messages: messages, metadata: extra, ...others } = sources;
  const taken = Object.entries(others).map(([name, source]) => [name, source(row, where)] as const);
  const name = id === undefined ? String(rowNumber) : parseTaskId(id(row, where), where, '');
  const mainQuery = parseText(query?.(row, where), 'main_query', where);
  const initMessages = parseMessages(messages?.(row, where), where);
  if (mainQuery.trim() === '' && initMessages.length === 0)
    throw new TaskError(
      'bad_task',
      `${where()}: the question is empty. Take the row out of the data, or name another column in fields.main_query.`,
    );
  const metadata = extra === undefined ? row : parseMetadata(extra(row, where), where);
  return {
    taskId: `${idPrefix}/${name}`,
    mainQuery,
    initMessages,
    metadata: { ...metadata, ...Object.fromEntries(taken) },
  };
}

function parseTaskId(value: unknown, where: () => string, hint: string): string {
  const taskId = typeof value === 'number' && Number.isFinite(value) ? String(value) : value;
  if (typeof taskId === 'string' && taskId.trim() !== '') return taskId;
  throw new TaskError(
    'empty_task_id',
    `${where()}: task_id is ${value === undefined ? 'missing' : JSON.stringify(value)}. Give each task an id, a string that is not empty.${hint}`,
  );
}

function parseText(value: unknown, field: string, where: () => string): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  throw new TaskError(
    'bad_task',
    `${where()}: ${field} is ${JSON.stringify(value).slice(0, 60)}, which is not a string. Write it in quotes, or name another column in fields.${field}.`,
  );
}

/** Parses a value that is JSON in a string, as in CSV, which has no objects. */
function fromText(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value === '' ? undefined : value;
  return parseJson(value) ?? value;
}

function parseMetadata(given: unknown, where: () => string): Task['metadata'] {
  const metadata = fromText(given);
  if (isJsonObject(metadata)) return metadata;
  throw new TaskError(
    'bad_task',
    `${where()}: metadata is ${JSON.stringify(metadata)?.slice(0, 60)}, which is not an object. Write { "name": value }, or leave it out.`,
  );
}

const roles = ['system', 'user', 'assistant'] as const;

function parseMessages(given: unknown, where: () => string): Task['initMessages'] {
  const value = fromText(given);
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value))
    throw new TaskError(
      'bad_task',
      `${where()}: init_messages is ${JSON.stringify(value).slice(0, 60)}, which is not a list. Write [{ "role": "user", "content": "..." }], or leave it out.`,
    );
  return value.map((message: unknown, at) => {
    const role = isJsonObject(message) ? roles.find((known) => known === message['role']) : undefined;
    const content = isJsonObject(message) ? message['content'] : undefined;
    if (role === undefined || typeof content !== 'string')
      throw new TaskError(
        'bad_task',
        `${where()}: init_messages[${at}] is ${JSON.stringify(message)?.slice(0, 80)}. Write { "role": "system" | "user" | "assistant", "content": "..." }.`,
      );
    return { role, content };
  });
}
