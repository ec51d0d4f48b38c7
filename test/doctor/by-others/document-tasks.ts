import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Task } from 'agentjet';
import type { Tasks } from './jobs.js';

const folder = path.join(import.meta.dirname, '../../../tutorial/documents');
export const documentsDir = path.join(folder, 'documents');

type Row = { readonly task_id: string; readonly main_query: string; readonly metadata: Task['metadata'] };

function read(name: string): readonly Task[] {
  const lines = readFileSync(path.join(folder, 'tasks', name), 'utf8')
    .trim()
    .split('\n');
  return lines.map((line) => {
    const { task_id: taskId, main_query: mainQuery, metadata } = JSON.parse(line) as Row;
    return { taskId, mainQuery, metadata, initMessages: [] };
  });
}

/** Returns the tasks of tutorial/documents. */
export const documentTasks = (): Tasks => ({
  training: read('training.jsonl'),
  validation: read('evaluation.jsonl').slice(0, 60),
});
