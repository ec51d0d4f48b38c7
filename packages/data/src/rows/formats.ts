import path from 'node:path';
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

/** By the end of the name; other files are read as JSON Lines. */
export function formatOf(file: string): RowFormat {
  const end = path.extname(file).toLowerCase();
  return (Object.hasOwn(formats, end) ? formats[end] : undefined) ?? jsonlRows;
}

/** Whether the end of the name says that a file holds rows. */
export function isTaskFile(file: string): boolean {
  return Object.hasOwn(formats, path.extname(file).toLowerCase());
}
