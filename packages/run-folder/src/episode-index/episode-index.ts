import { open, type FileHandle } from 'node:fs/promises';
import type { JsonObject } from '@agentjet/core';
import { episodeFileOf, type EpisodeFiles } from '../episode-files.js';
import type { RecordedEpisode } from '../episode-record.js';
import { reading } from '../file-error.js';
import { readJsonLineAt } from '../json-lines.js';
import { sizeOf } from '../size-of.js';
import { toEpisodeOutcome, type OutcomeInWords } from './episode-outcome.js';
import type { EpisodeRow } from './episode-row.js';
import { indexFileOf, readIndex } from './index-file.js';
import { parseHead } from './parse-head.js';
import type { RecordKeys } from './record-keys.js';
import { scanRows } from './scan-lines.js';

/**
 * Reads the episodes of a run, finished or running, as rows of an index, without parsing their tokens. It never writes.
 * Lines that are not in the index are scanned. A line without an end, which a writer has not finished, is left out.
 */
export class EpisodeIndex {
  readonly #dir: string;
  readonly #episodes: EpisodeFiles;
  readonly keys: RecordKeys;

  constructor(dir: string, episodes: EpisodeFiles, keys: RecordKeys) {
    this.#dir = dir;
    this.#episodes = episodes;
    this.keys = keys;
  }

  /** The steps that have episodes, ascending. An evaluation before training is step 0. */
  steps(): Promise<number[]> {
    return this.#episodes.steps();
  }

  /**
   * Returns the rows of a step, in the order in which they were written. With `from`, it returns only rows of lines
   * from this byte on. A program that follows a run passes `offset + length + 1` of the last row that it has. If `size`
   * is below this number, the run was rewound, and the program must read the whole step again.
   */
  async rowsOf(step: number, from = 0): Promise<readonly EpisodeRow[]> {
    const file = episodeFileOf(this.#episodes.dir, step);
    return reading(file, async () => {
      const size = await this.size(step);
      const indexed = await readIndex(indexFileOf(this.#dir, step), file, size);
      const last = indexed.at(-1);
      const end = last === undefined ? 0 : last.offset + last.length + 1;
      const scanFrom = Math.max(from, end);
      const scanned = scanFrom < size ? await scanRows(file, scanFrom, this.keys.kindField) : [];
      return [...indexed.filter(({ offset }) => offset >= from), ...scanned];
    });
  }

  /** The rows of all steps. */
  async *rows(): AsyncGenerator<EpisodeRow> {
    for (const step of await this.steps()) yield* await this.rowsOf(step);
  }

  /** The number of bytes of a step's file; 0 if there is none. */
  size(step: number): Promise<number> {
    return sizeOf(episodeFileOf(this.#episodes.dir, step));
  }

  /** Returns `readHead` of several episodes of a step, in their order. The file is opened once. */
  async readHeads(step: number, rows: readonly EpisodeRow[]): Promise<readonly JsonObject[]> {
    if (rows.length === 0) return [];
    const file = episodeFileOf(this.#episodes.dir, step);
    return reading(file, async () => {
      const handle = await open(file);
      try {
        const heads: JsonObject[] = [];
        for (const near of neighbours(rows)) heads.push(...(await readHeadsOf(handle, near)));
        return heads;
      } finally {
        await handle.close();
      }
    });
  }

  /** Returns everything in an episode's line except turns and samples. */
  async readHead(row: EpisodeRow): Promise<JsonObject> {
    const [head = {}] = await this.readHeads(row.step, [row]);
    return head;
  }

  /** Returns the question, the expected answer, the given answer and the reason of an episode. */
  async readOutcome(row: EpisodeRow): Promise<OutcomeInWords> {
    return toEpisodeOutcome(await this.readHead(row), this.keys);
  }

  /** Returns the whole line of an episode. */
  async read({ step, offset, length }: EpisodeRow): Promise<RecordedEpisode> {
    const file = episodeFileOf(this.#episodes.dir, step);
    const line = await reading(file, () =>
      readJsonLineAt(file, { start: offset, end: offset + length, beginning: '' }),
    );
    return line as RecordedEpisode;
  }
}

/** Most heads are shorter than this. */
const usualHeadBytes = 1 << 14;
/** At most this many bytes are read at once. */
const maxReadBytes = 1 << 20;

/** The bytes of a line that usually contain its head. */
const usualEnd = ({ offset, length }: EpisodeRow): number => offset + Math.min(length, usualHeadBytes);

/** Divides rows so that the beginnings of each part's lines are close together in the file, and few reads are needed. */
function neighbours(rows: readonly EpisodeRow[]): readonly (readonly [EpisodeRow, ...EpisodeRow[]])[] {
  const parts: [EpisodeRow, ...EpisodeRow[]][] = [];
  for (const row of rows) {
    const part = parts.at(-1);
    const last = part?.at(-1);
    const isNear =
      part !== undefined &&
      last !== undefined &&
      row.offset >= last.offset &&
      row.offset - usualEnd(last) < usualHeadBytes &&
      usualEnd(row) - part[0].offset <= maxReadBytes;
    if (isNear) part.push(row);
    else parts.push([row]);
  }
  return parts;
}

/** Reads the beginnings of lines at once, and those lines as a whole whose head is longer. */
async function readHeadsOf(
  handle: FileHandle,
  rows: readonly [EpisodeRow, ...EpisodeRow[]],
): Promise<readonly JsonObject[]> {
  const start = rows[0].offset;
  const bytes = await readBytes(handle, start, Math.max(...rows.map(usualEnd)));
  const heads: JsonObject[] = [];
  for (const row of rows) {
    const head =
      parseHead(bytes.subarray(row.offset - start, usualEnd(row) - start)) ??
      parseHead(await readBytes(handle, row.offset, row.offset + row.length));
    heads.push({ ...(row.group_id !== '' && { group_id: row.group_id }), ...head?.fields });
  }
  return heads;
}

async function readBytes(handle: FileHandle, start: number, end: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(end - start), 0, end - start, start);
  return buffer.subarray(0, bytesRead);
}
