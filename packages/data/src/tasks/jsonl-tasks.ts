import { TaskError, type Task } from '@agentjet/core';
import { jsonlRows } from '../rows/jsonl-rows.js';
import type { RowFormat } from '../rows/row-format.js';
import { checkTaskFile } from '../rows/text-lines.js';
import { createRowToTask } from './row-to-task.js';

/** A larger file is refused, because all tasks and everything made from them are in memory. */
const mostBytes = 2 ** 30;

/**
 * Reads all tasks of a file in our own format as a list. Empty lines are skipped. Every problem is a TaskError with file and line.
 */
export async function readJsonlTasks(file: string): Promise<readonly Task[]> {
  await checkTaskFile(file, mostBytes);
  const toTask = createRowToTask({}, '');
  const tasks: Task[] = [];
  const firstLine = new Map<string, number>();
  for await (const { rows } of jsonlRows.read(file))
    for (const { value, place } of rows) {
      const where = (): string => jsonlRows.showPlace(file, place);
      const task = toTask(value, where, tasks.length);
      const earlier = firstLine.get(task.taskId);
      if (earlier !== undefined) throw repeatedId(where(), task.taskId, `line ${earlier}`);
      firstLine.set(task.taskId, place);
      tasks.push(task);
    }
  if (tasks.length === 0) throw noTasks(file, 'jsonl');
  return tasks;
}

export function repeatedId(where: string, taskId: string, earlier: string): TaskError {
  return new TaskError(
    'duplicate_task_id',
    `${where}: task_id "${taskId}" was used in ${earlier} already. Give each task a unique id.`,
  );
}

export function noTasks(file: string, format: RowFormat['name']): TaskError {
  return new TaskError('no_tasks', `${file} contains no tasks. ${repairs[format]}`);
}

const repairs: Readonly<Record<RowFormat['name'], string>> = {
  jsonl: 'Write one JSON object per line, with task_id and main_query.',
  json: 'Write a list of objects with task_id and main_query.',
  csv: 'Write a line of column names, such as task_id and main_query, and a row for each task below it.',
  parquet: 'Write a row for each task, with columns such as task_id and main_query.',
};
