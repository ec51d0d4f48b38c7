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
        for (const row of rows) heads.push(await readHeadOf(handle, row));
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

/** Reads the beginning of a line, and the whole line if its head is longer. */
async function readHeadOf(handle: FileHandle, row: EpisodeRow): Promise<JsonObject> {
  const short = Math.min(row.length, usualHeadBytes);
  const fields = (await readHeadAt(handle, row, short)) ?? (await readHeadAt(handle, row, row.length));
  return { ...(row.group_id !== '' && { group_id: row.group_id }), ...fields };
}

/**
 * Reads the head of a line. Returns undefined if the first `length` bytes of the line do not contain the whole head.
 */
async function readHeadAt(handle: FileHandle, { offset }: EpisodeRow, length: number): Promise<JsonObject | undefined> {
  const { buffer } = await handle.read(Buffer.alloc(length), 0, length, offset);
  return parseHead(buffer)?.fields;
}
