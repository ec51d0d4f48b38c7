import { ConfigError, setting, z } from '@agentjet/core';
import { defineReader } from '@agentjet/rollout/inputs';
import { fieldsOf, tableSettings } from '../table-settings.js';

const file = z.string().min(1).nullable();

export const jsonlDatasetFile = defineReader({
  name: 'jsonl_dataset_file',
  section: z
    .strictObject({
      training: z.strictObject({
        file_path: setting(file, null, '.jsonl, .json, .csv or .parquet; a pattern such as data/*.parquet', {
          path: 'file',
        }),
      }),
      validation: z.strictObject({ file_path: setting(file, null, 'null: no evaluation', { path: 'file' }) }),
      ...tableSettings,
    })
    .describe('one JSON object per line: task_id, main_query, init_messages, metadata; or other columns, see fields'),
  async open(section, { onNotice = () => undefined }) {
    const { training, validation } = section;
    if (training.filePath === null && validation.filePath === null)
      throw new ConfigError(
        'no_tasks',
        'There are no tasks. Set task_reader.jsonl_dataset_file.training.file_path, or call setData() on the job.',
      );
    const { createFileReader } = await import('./create-file-reader.js');
    return createFileReader({
      ...section,
      fields: fieldsOf(section.fields),
      training: training.filePath,
      validation: validation.filePath,
      onNotice,
    });
  },
});
