import { open, realpath, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { TaskError, type Task } from '@agentjet/core';
import { formatOf } from '../rows/formats.js';
import { parseRow } from '../rows/parse-row.js';
import type { RowFormat } from '../rows/row-format.js';
import { checkTaskFile } from '../rows/text-lines.js';
import type { Fields } from '../tasks/fields.js';
import { createRowToTask, type RowToTask } from '../tasks/row-to-task.js';
import { indexRows, sumFile } from './index-rows.js';
import { RowIndex } from './row-index.js';
import { changedFile, FileRows, MemoryRows, type RowText } from './row-text.js';
import { dropDraft, entryDir, keepEntry, openDraft, readEntry, unwritable } from './task-cache.js';
import { hashText, normalizedText, type Hash } from './text-hash.js';

/**
 * One file of tasks. Opening it reads every row once and builds an index, so that each task can be read alone later. For a large
 * file the index is cached, together with the rows as JSON Lines if the file has another format.
 */

export type TaskFileOptions = {
  readonly fields: Fields;
  /** The prefix of ids if `fields` maps them. */
  readonly idPrefix: string;
  /** The number of the file's first row, for ids. */
  readonly firstRow: number;
  /** The maximum number of rows that are read. */
  readonly limit: number | null;
  readonly onNotice: (message: string) => void;
  readonly onProgress: (share: number) => void;
};

/** Reading a smaller file takes less time than writing a cache. */
const smallBytes = 2 ** 20;

/** Increase this if the meaning of an index changes. */
const indexVersion = 2;

type Opened = {
  readonly index: RowIndex;
  readonly rows: RowText;
  readonly sha256: string;
  readonly cache: string | null;
};

export class TaskFile {
  readonly file: string;
  readonly #options: TaskFileOptions;
  readonly #format: RowFormat;
  readonly #toTask: RowToTask;
  #opened: Opened;

  private constructor(file: string, options: TaskFileOptions, opened: Opened) {
    this.file = file;
    this.#options = options;
    this.#format = formatOf(file);
    this.#toTask = createRowToTask(options.fields, options.idPrefix);
    this.#opened = opened;
  }

  /** Throws TaskError with file and place for the first row that is not a task. */
  static async open(file: string, options: TaskFileOptions): Promise<TaskFile> {
    await checkTaskFile(file);
    return new TaskFile(file, options, await openFile(file, options));
  }

  get index(): RowIndex {
    return this.#opened.index;
  }

  get sha256(): string {
    return this.#opened.sha256;
  }

  placeOf(row: number): string {
    return this.#format.showPlace(this.file, this.index.places[row] ?? 0);
  }

  /** Throws TaskError `changed_file` if the file is not the one that was opened. */
  async taskAt(row: number): Promise<Task> {
    try {
      return await this.#read(row);
    } catch (error) {
      const { cache, sha256 } = this.#opened;
      if (cache === null) throw error;
      await rm(cache, { recursive: true, force: true }); // its rows are damaged, so it is made again, once
      const again = await openFile(this.file, this.#options);
      if (again.sha256 !== sha256) throw changedFile(this.file);
      this.#opened = again;
      return this.#read(row);
    }
  }

  async #read(row: number): Promise<Task> {
    const { index, rows } = this.#opened;
    const where = (): string => this.placeOf(row);
    const text = await rows.read(index.offsets[row] ?? 0, index.lengths[row] ?? 0);
    const task = this.#toTask(parseRow(text.trim(), where), where, this.#options.firstRow + row);
    const [found, kept]: readonly [Hash, Hash] = [hashText(normalizedText(task), emptyHash()), emptyHash()];
    index.textOf(row, kept);
    if (found.high === kept.high && found.low === kept.low) return task;
    throw new TaskError('damaged_cache', `${where()}: the cached row is damaged. Start again.`);
  }
}

function emptyHash(): Hash {
  return { high: 0, low: 0 };
}

async function openFile(file: string, options: TaskFileOptions): Promise<Opened> {
  const stamp = await stat(file, { bigint: true });
  const { fields, idPrefix, firstRow, limit } = options;
  const sortedFields = Object.entries(fields).toSorted(([left], [right]) => (left < right ? -1 : 1));
  const format = formatOf(file);
  const shape = [indexVersion, format.name, sortedFields, idPrefix, firstRow, limit];
  const cache = entryDir([await realpath(file), String(stamp.size), String(stamp.mtimeNs), ...shape]);
  const isSmall = stamp.size <= smallBytes;
  const found = isSmall ? undefined : await readEntry(cache);
  if (found === undefined) return isSmall ? readSmall(file, options) : readLarge(file, cache, options);
  const rowsFile = found.card.rowsBytes === null ? file : path.join(cache, 'rows.jsonl');
  return {
    index: found.index,
    rows: new FileRows(rowsFile, await stat(rowsFile)),
    sha256: found.card.sha256,
    cache: found.card.rowsBytes === null ? null : cache,
  };
}

const partsOf = ({ fields, idPrefix, firstRow, limit, onProgress }: TaskFileOptions, file: string) => ({
  format: formatOf(file),
  firstRow,
  toTask: createRowToTask(fields, idPrefix),
  limit: limit ?? Infinity,
  onProgress,
});

async function readSmall(file: string, options: TaskFileOptions): Promise<Opened> {
  const before = await stat(file);
  const pieces: Buffer[] = [];
  const write = async (text: Buffer): Promise<void> => void pieces.push(text);
  const bytes = await indexRows(file, { ...partsOf(options, file), write });
  const rows = formatOf(file).isAddressable ? new FileRows(file, before) : new MemoryRows(Buffer.concat(pieces));
  return { index: new RowIndex(bytes), rows, sha256: await sumFile(file), cache: null };
}

async function readLarge(file: string, dir: string, options: TaskFileOptions): Promise<Opened> {
  return formatOf(file).isAddressable ? readLargeLines(file, dir, options) : convert(file, dir, options);
}

/** Caches only the index. If that fails, the run continues without a cache. */
async function readLargeLines(file: string, dir: string, options: TaskFileOptions): Promise<Opened> {
  const before = await stat(file);
  const bytes = await indexRows(file, { ...partsOf(options, file), write: async () => undefined });
  const sha256 = await sumFile(file);
  const index = new RowIndex(bytes);
  try {
    await keepEntry(dir, await openDraft(dir), { rows: index.size, sha256, rowsBytes: null, bytes });
  } catch (error) {
    options.onNotice(`${unwritable(dir, error).message} The run continues; the next one reads ${file} again.`);
  }
  return { index, rows: new FileRows(file, before), sha256, cache: null };
}

async function convert(file: string, dir: string, options: TaskFileOptions): Promise<Opened> {
  const draft = await openDraft(dir);
  try {
    const handle = await open(path.join(draft, 'rows.jsonl'), 'w');
    let rowsBytes = 0;
    const write = async (text: Buffer): Promise<void> => {
      await handle.writeFile(text).catch((error: unknown) => {
        throw unwritable(dir, error);
      });
      rowsBytes += text.length;
    };
    let bytes: ArrayBuffer;
    try {
      bytes = await indexRows(file, { ...partsOf(options, file), write });
    } finally {
      await handle.close();
    }
    const index = new RowIndex(bytes);
    const sha256 = await sumFile(file);
    await keepEntry(dir, draft, { rows: index.size, sha256, rowsBytes, bytes });
    const rowsFile = path.join(dir, 'rows.jsonl');
    return { index, rows: new FileRows(rowsFile, await stat(rowsFile)), sha256, cache: dir };
  } catch (error) {
    await dropDraft(draft);
    throw error;
  }
}
