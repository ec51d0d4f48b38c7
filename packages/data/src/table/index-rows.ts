import { sha256OfFile, TaskError } from '@agentjet/core';
import type { RowFormat, RowBatch } from '../rows/row-format.js';
import { noTasks } from '../tasks/jsonl-tasks.js';
import type { RowToTask } from '../tasks/row-to-task.js';
import { RowIndexBuilder } from './row-index.js';
import { hashText, normalizedText, type Hash } from './text-hash.js';

export type IndexOptions = {
  readonly format: RowFormat;
  readonly toTask: RowToTask;
  /** The number of the first row. */
  readonly firstRow: number;
  /** The maximum number of rows that are read. */
  readonly limit: number;
  /** Receives the rows as JSON Lines if the format is not addressable. */
  readonly write: (text: Buffer) => Promise<void>;
  /** Called with the share of the file that has been read. */
  readonly onProgress: (share: number) => void;
};

/** Reads every row of a file, checks that it is a task, and records its position. Throws TaskError with file and place. */
export async function indexRows(file: string, options: IndexOptions): Promise<ArrayBuffer> {
  const builder = new RowIndexBuilder();
  let written = 0;
  for await (const batch of options.format.read(file)) {
    const rows = batch.rows.slice(0, options.limit - builder.size);
    const text = addRows(file, { ...batch, rows }, { builder, written, options });
    if (text !== undefined) await options.write(text);
    written += text?.length ?? 0;
    options.onProgress(batch.doneShare);
    if (builder.size >= options.limit) break;
  }
  if (builder.size === 0) throw noTasks(file, options.format.name);
  return builder.toBytes();
}

type Adding = { readonly builder: RowIndexBuilder; readonly written: number; readonly options: IndexOptions };

/** Returns the rows as JSON Lines if they must be written. */
function addRows(file: string, { rows }: RowBatch, { builder, written, options }: Adding): Buffer | undefined {
  const { format, toTask } = options;
  const [id, text]: Hash[] = [
    { high: 0, low: 0 },
    { high: 0, low: 0 },
  ];
  if (id === undefined || text === undefined) return undefined;
  const lines: string[] = [];
  let at = written;
  for (const { value, place, offset, length } of rows) {
    const task = toTask(value, () => format.showPlace(file, place), options.firstRow + builder.size);
    hashText(task.taskId, id);
    hashText(normalizedText(task), text);
    if (offset !== undefined && length !== undefined) {
      builder.add({ offset, length, place, id, text });
      continue;
    }
    const line = `${JSON.stringify(value)}\n`;
    const size = Buffer.byteLength(line);
    builder.add({ offset: at, length: size - 1, place, id, text });
    lines.push(line);
    at += size;
  }
  return lines.length === 0 ? undefined : Buffer.from(lines.join(''));
}

/** Returns the SHA-256 of a file. */
export async function sumFile(file: string): Promise<string> {
  return sha256OfFile(file).catch((error: unknown) => {
    throw new TaskError('unreadable_file', `Task file ${file} cannot be read.`, { cause: error });
  });
}
