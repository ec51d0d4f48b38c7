import { ConfigError, setting, z } from '@agentjet/core';
import { defineReader } from '@agentjet/rollout/inputs';
import { fieldsOf, tableSettings } from '../table-settings.js';

const name = z.string().min(1);

export const huggingfaceDatRepo = defineReader({
  name: 'huggingface_dat_repo',
  section: z
    .strictObject({
      dataset_path: setting(name.nullable(), null, 'org/name on the hub, or a folder or file', { path: 'model' }),
      dataset_name: setting(name.nullable(), null, 'the subset; null: the only one, or default'),
      training_split: setting(name, 'train'),
      validation_split: setting(name.nullable(), 'test', 'null: no evaluation'),
      revision: setting(
        name.nullable(),
        null,
        "a branch, a tag or a commit; null: the hub's Parquet files, or else the files of main",
      ),
      cache_dir: setting(name.nullable(), null, 'null: HF_HUB_CACHE, or hub in HF_HOME', { path: 'output' }),
      offline: setting(z.boolean(), false, 'true: use only the cache; HF_HUB_OFFLINE does the same'),
      limit: setting(z.int().positive().nullable(), null, 'read only this many rows of each split'),
      ...tableSettings,
    })
    .describe('a data set of the Hugging Face hub, from its cache or downloaded; set fields to name the question'),
  async open(section, { onNotice = () => undefined }) {
    const { datasetPath } = section;
    if (datasetPath === null)
      throw new ConfigError(
        'no_tasks',
        'task_reader.type is huggingface_dat_repo, but task_reader.huggingface_dat_repo.dataset_path is empty. Write org/name, or a folder.',
      );
    const { createDatasetReader } = await import('./create-dataset-reader.js');
    return createDatasetReader({ ...section, datasetPath, fields: fieldsOf(section.fields), onNotice });
  },
});
