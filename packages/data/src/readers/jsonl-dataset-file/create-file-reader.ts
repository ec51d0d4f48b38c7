import type { TaskReader } from '@agentjet/rollout/inputs';
import type { SideRows, SplitOptions } from '../../splits/open-splits.js';
import { tellProgress } from '../../splits/tell-progress.js';
import { parseFields, type Fields } from '../../tasks/fields.js';
import { findFiles, openFiles } from '../open-files.js';
import { createSplitReader } from '../split-reader.js';

export type FileReaderOptions = Omit<SplitOptions, 'onProgress'> & {
  /** A path or a pattern. Null for none. */
  readonly training: string | null;
  readonly validation: string | null;
  readonly fields: Fields;
};

/** Reads tasks from files: `.jsonl`, `.json`, `.csv`, `.tsv`, `.parquet`. Files with other endings are read as JSON Lines. Throws ConfigError `bad_fields`. */
export function createFileReader(options: FileReaderOptions): TaskReader {
  parseFields(options.fields);
  const onProgress = tellProgress(options.onNotice);
  const opener = (pattern: string | null, side: string) =>
    pattern === null ? null : (): Promise<SideRows> => openPattern(pattern, side, { ...options, onProgress });
  return createSplitReader(
    { training: opener(options.training, 'training'), evaluation: opener(options.validation, 'validation') },
    { ...options, onProgress },
  );
}

async function openPattern(
  pattern: string,
  side: string,
  options: Pick<FileReaderOptions, 'fields' | 'onNotice'> & Pick<SplitOptions, 'onProgress'>,
): Promise<SideRows> {
  return openFiles(pattern, await findFiles(pattern), {
    kind: 'jsonl_dataset_file',
    revision: null,
    limit: null,
    fields: options.fields,
    idPrefix: (name) => `${name}/${side}`,
    onNotice: options.onNotice,
    onProgress: options.onProgress,
  });
}
