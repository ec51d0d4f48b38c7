/** These exports are for packages whose readers make tables of tasks. */
export { findFiles, openFiles } from './readers/open-files.js';
export { createSplitReader, once } from './readers/split-reader.js';
export { jsonlRows } from './rows/jsonl-rows.js';
export { checkTaskFile } from './rows/text-lines.js';
export { NearDuplicates } from './splits/near-duplicates.js';
export type { SideRows } from './splits/open-splits.js';
export { tellProgress } from './splits/tell-progress.js';
export { TaskFile } from './table/task-file.js';
export { normalizedText } from './table/text-hash.js';
export type { Fields } from './tasks/fields.js';
