export {
  createDatasetReader,
  type DatasetReaderOptions,
} from './readers/huggingface-dat-repo/create-dataset-reader.js';
export { createFileReader, type FileReaderOptions } from './readers/jsonl-dataset-file/create-file-reader.js';
export { readJsonlTasks } from './tasks/jsonl-tasks.js';
