import { isJsonObject, TaskError, toErrorMessage, type JsonObject, type Task } from '@agentjet/core';
import { readTextLines } from './text-lines.js';

/**
 * Reads the `jsonl_dataset_file` format: one JSON object per line with `task_id`, `main_query`, `init_messages` and
 * `metadata` (where absent: the whole line). Empty lines are skipped. Anything wrong is a TaskError with file and line.
 */
export async function readJsonlTasks(file: string): Promise<readonly Task[]> {
  const tasks: Task[] = [];
  const firstLine = new Map<string, number>();
  for await (const [line, text] of readTextLines(file)) {
    const where = `${file}:${line}`;
    const task = parseTask(parseJson(text, where), where);
    const earlier = firstLine.get(task.taskId);
    if (earlier !== undefined) {
      throw new TaskError(
        'duplicate_task_id',
        `${where}: task_id "${task.taskId}" was used in line ${earlier} already. Give each task an id of its own.`,
      );
    }
    firstLine.set(task.taskId, line);
    tasks.push(task);
  }
  if (tasks.length === 0) {
    throw new TaskError(
      'no_tasks',
      `${file} holds no tasks. Write one JSON object per line, with task_id and main_query.`,
    );
  }
  return tasks;
}

/** Deeper values cannot be written into the records of an episode. */
const mostDepth = 500;

function parseJson(text: string, where: string): unknown {
  const value = parse(text, where);
  if (isDeeper(value, mostDepth))
    throw new TaskError(
      'bad_task',
      `${where}: the task is nested more than ${mostDepth} levels deep. Make it flatter.`,
    );
  return value;
}

/** Level by level: a function that calls itself would need a stack as deep as the value. */
function isDeeper(value: unknown, depth: number): boolean {
  let level: unknown[] = [value];
  for (let at = 0; at <= depth; at++) {
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
    if (level.length === 0) return false;
  }
  return true;
}

function parse(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TaskError(
      'bad_json',
      `${where}: not JSON: ${toErrorMessage(error)}. The line starts with ${JSON.stringify(text.slice(0, 60))}.`,
      { cause: error },
    );
  }
}

function parseTask(value: unknown, where: string): Task {
  if (!isJsonObject(value)) {
    throw new TaskError(
      'bad_task',
      `${where}: ${JSON.stringify(value)?.slice(0, 60)} is not an object. Write { "task_id": ..., "main_query": ... }.`,
    );
  }
  const taskId = parseTaskId(value['task_id'], where);
  const mainQuery = parseText(value['main_query'], 'main_query', where);
  const initMessages = parseMessages(value['init_messages'], where);
  if (mainQuery === '' && initMessages.length === 0) {
    throw new TaskError(
      'bad_task',
      `${where}: task "${taskId}" has neither main_query nor init_messages. Give it one of them.`,
    );
  }
  return { taskId, mainQuery, initMessages, metadata: parseMetadata(value, where) };
}

function parseTaskId(value: unknown, where: string): string {
  const taskId = typeof value === 'number' ? String(value) : value;
  if (typeof taskId !== 'string' || taskId.trim() === '') {
    throw new TaskError(
      'empty_task_id',
      `${where}: task_id is ${value === undefined ? 'missing' : JSON.stringify(value)}. Give each task an id, a text that is not empty.`,
    );
  }
  return taskId;
}

function parseText(value: unknown, field: string, where: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') {
    throw new TaskError(
      'bad_task',
      `${where}: ${field} is ${JSON.stringify(value).slice(0, 60)}, which is not a text.`,
    );
  }
  return value;
}

function parseMetadata(line: JsonObject, where: string): Task['metadata'] {
  const metadata = line['metadata'] ?? line;
  if (!isJsonObject(metadata)) {
    throw new TaskError(
      'bad_task',
      `${where}: metadata is ${JSON.stringify(metadata).slice(0, 60)}, which is not an object.`,
    );
  }
  return metadata;
}

const roles = ['system', 'user', 'assistant'] as const;

function parseMessages(value: unknown, where: string): Task['initMessages'] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) {
    throw new TaskError(
      'bad_task',
      `${where}: init_messages is ${JSON.stringify(value).slice(0, 60)}, which is not a list.`,
    );
  }
  return value.map((message: unknown, at) => {
    const role = isJsonObject(message) ? roles.find((known) => known === message['role']) : undefined;
    const content = isJsonObject(message) ? message['content'] : undefined;
    if (role === undefined || typeof content !== 'string') {
      throw new TaskError(
        'bad_task',
        `${where}: init_messages[${at}] is ${JSON.stringify(message)?.slice(0, 80)}. Write { "role": "system" | "user" | "assistant", "content": "..." }.`,
      );
    }
    return { role, content };
  });
}
