import path from 'node:path';
import { TaskError } from '@agentjet/core';
import { glob, isDynamicPattern } from 'tinyglobby';
import { isTaskFile } from '../rows/formats.js';
import type { SideRows } from '../splits/open-splits.js';
import { TaskFile } from '../table/task-file.js';
import { TaskRows } from '../table/task-rows.js';
import type { Fields } from '../tasks/fields.js';

export type OpenFilesOptions = {
  /** The `kind` of the source in task cards. */
  readonly kind: string;
  readonly revision: string | null;
  readonly fields: Fields;
  readonly limit: number | null;
  /** Returns the prefix of a file's ids; `name` is unique among the files. */
  readonly idPrefix: (name: string) => string;
  /** If true, the files are parts of one table, and rows are numbered across files. */
  readonly isOneTable?: boolean;
  /** Returns the name of a file in the record. Default: its path. */
  readonly locate?: (file: string) => string;
  readonly onNotice: (message: string) => void;
  readonly onProgress: (what: string, share: number) => void;
};

/** Returns the files for a path, or for a pattern such as `data/*.parquet`, by name. Throws TaskError if there are none. */
export async function findFiles(pattern: string): Promise<readonly string[]> {
  const isPattern = isDynamicPattern(pattern);
  if (!isPattern) return [pattern];
  const found = await glob(pattern.replaceAll('\\', '/'), {
    absolute: true,
    onlyFiles: true,
    expandDirectories: false,
  });
  if (found.length > 0) return found.map((file) => path.normalize(file)).sort();
  throw new TaskError('missing_file', `No file matches ${pattern}. Check task_reader.`);
}

/** Opens files one after the other. Each is read completely the first time, so that a bad row is found at once. */
export async function openFiles(
  location: string,
  names: readonly string[],
  options: OpenFilesOptions,
): Promise<SideRows> {
  const files: TaskFile[] = [];
  let left = options.limit;
  let firstRow = 0;
  for (const [at, file] of names.entries()) {
    if (left === 0) break;
    const opened = await TaskFile.open(file, {
      ...options,
      limit: left,
      firstRow: options.isOneTable === true ? firstRow : 0,
      idPrefix: options.idPrefix(uniqueName(file, names)),
      onProgress: (share) => options.onProgress(`reading ${path.basename(file)}`, (at + share) / names.length),
    });
    files.push(opened);
    firstRow += opened.index.size;
    if (left !== null) left -= opened.index.size;
  }
  const { kind, revision, locate = (file: string) => file } = options;
  return {
    location,
    rows: new TaskRows(files),
    sources: files.map(({ file, sha256 }) => ({ kind, location: locate(file), revision, sha256 })),
  };
}

/** Returns the file's name without its ending, or the path below the common folder if other files have the same name. */
function uniqueName(file: string, all: readonly string[]): string {
  const nameOf = (each: string): string =>
    isTaskFile(each) ? path.basename(each, path.extname(each)) : path.basename(each);
  const isAlone = all.filter((other) => nameOf(other) === nameOf(file)).length === 1;
  if (isAlone) return nameOf(file);
  const common = all.map((each) => path.dirname(each)).reduce(commonDir);
  return path.relative(common, file).split(path.sep).join('/');
}

function commonDir(left: string, right: string): string {
  const [a, b] = [left.split(path.sep), right.split(path.sep)];
  const at = a.findIndex((part, index) => part !== b[index]);
  return a.slice(0, at === -1 ? a.length : at).join(path.sep) || path.sep;
}
