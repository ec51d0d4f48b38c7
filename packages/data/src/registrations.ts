import { dataGeneration } from './readers/data-generation/registration.js';
import { feedbackTracing } from './readers/feedback-tracing/registration.js';
import { huggingfaceDatRepo } from './readers/huggingface-dat-repo/registration.js';
import { jsonlDatasetFile } from './readers/jsonl-dataset-file/registration.js';

/** Every task reader of this package; the first is the default. */
export const readers = [jsonlDatasetFile, huggingfaceDatRepo, dataGeneration, feedbackTracing] as const;
