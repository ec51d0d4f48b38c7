import type { TaskReader } from '@agentjet/rollout';
import { createFileReader, type FileReaderOptions } from '../readers/jsonl-dataset-file/create-file-reader.js';

/** Creates a reader of files with the defaults of the configuration, and without files. */
export function openFileReader(options: Partial<FileReaderOptions>): TaskReader {
  return createFileReader({
    training: null,
    validation: null,
    fields: {},
    split: { evaluation: 0, by: 'content' },
    allowOverlap: false,
    duplicates: 'keep',
    similarity: 0.8,
    onNotice: () => undefined,
    ...options,
  });
}
