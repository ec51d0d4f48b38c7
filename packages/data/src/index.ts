export { createFileReader, type FileReaderOptions } from './readers/jsonl-dataset-file/create-file-reader.js';
export { readJsonlTasks } from './tasks/jsonl-tasks.js';
