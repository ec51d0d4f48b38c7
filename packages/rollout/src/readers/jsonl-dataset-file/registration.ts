import { ConfigError, setting, z, type Task } from '@agentjet/core';
import { defineReader } from '../reader-registration.js';
import { readJsonlTasks } from './jsonl-tasks.js';

const file = z.string().min(1).nullable();

/** Reads the file when the pass begins. */
async function* readFile(name: string | null): AsyncGenerator<Task> {
  if (name !== null) yield* await readJsonlTasks(name);
}

export const jsonlDatasetFile = defineReader({
  name: 'jsonl_dataset_file',
  section: z
    .strictObject({
      training: z.strictObject({ file_path: setting(file, null, undefined, { path: 'file' }) }),
      validation: z.strictObject({ file_path: setting(file, null, 'null: no evaluation', { path: 'file' }) }),
    })
    .describe('one JSON object per line: task_id, main_query, init_messages, metadata'),
  open({ training, validation }) {
    if (training.filePath === null && validation.filePath === null)
      throw new ConfigError(
        'no_tasks',
        'There are no tasks. Set task_reader.jsonl_dataset_file.training.file_path, or call setData() on the job.',
      );
    return { trainingTasks: () => readFile(training.filePath), evaluationTasks: () => readFile(validation.filePath) };
  },
});
