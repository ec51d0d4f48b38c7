import { huggingfaceDatRepo } from './readers/huggingface-dat-repo/registration.js';
import { jsonlDatasetFile } from './readers/jsonl-dataset-file/registration.js';

/** Every task reader of this package. The first is the default. */
export const tableReaders = [jsonlDatasetFile, huggingfaceDatRepo] as const;
export { fieldsOf, tableSettings } from './readers/table-settings.js';
