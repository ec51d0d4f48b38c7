import path from 'node:path';
import { TaskError } from '@agentjet/core';
import { csvRows } from './csv-rows.js';
import { jsonRows } from './json-rows.js';
import { jsonlRows } from './jsonl-rows.js';
import { parquetRows } from './parquet-rows.js';
import type { RowFormat } from './row-format.js';

const formats: Readonly<Record<string, RowFormat>> = {
  '.csv': csvRows,
  '.tsv': csvRows,
  '.json': jsonRows,
  '.jsonl': jsonlRows,
  '.ndjson': jsonlRows,
  '.parquet': parquetRows,
};

/** Returns the format by the ending of the name. Other files are read as JSON Lines, and an error then mentions that. */
export function formatOf(file: string): RowFormat {
  const end = path.extname(file).toLowerCase();
  return (Object.hasOwn(formats, end) ? formats[end] : undefined) ?? (end === '' ? jsonlRows : otherRows);
}

const otherRows: RowFormat = {
  ...jsonlRows,
  async *read(file) {
    try {
      yield* jsonlRows.read(file);
    } catch (error) {
      throw error instanceof TaskError && error.code !== 'missing_file' ? unknownEnd(file, error) : error;
    }
  },
};

function unknownEnd(file: string, { code, message, cause }: TaskError): TaskError {
  const known = Object.keys(formats).join(', ');
  return new TaskError(
    code,
    `${message} A name that ends in ${path.extname(file)} is read as JSON Lines. If the file is something else, save it as one of ${known}.`,
    { cause },
  );
}

/** Returns whether the ending of the name means that a file holds rows. */
export function isTaskFile(file: string): boolean {
  return Object.hasOwn(formats, path.extname(file).toLowerCase());
}
