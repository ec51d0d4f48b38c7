import { appendFile, mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { episodeFileOf, type EpisodeFiles } from '../episode-files.js';
import type { EpisodeRecord, RecordedEpisode } from '../episode-record.js';
import { readFolder } from '../file-error.js';
import { replaceFile } from '../replace-file.js';
import { sizeOf } from '../size-of.js';
import { toEpisodeRow, type EpisodeRow, type LinePlace } from './episode-row.js';
import { indexDirOf, indexFileOf, readIndex } from './index-file.js';
import { readRecordKeys, type RecordKeys } from './record-keys.js';
import { scanRows } from './scan-lines.js';

/** Writes the index of a run. A row is written after the line that it describes. */
export class IndexWriter {
  readonly #dir: string;
  readonly #readConfig: () => Promise<string>;
  #keys: RecordKeys | undefined;

  constructor(dir: string, readConfig: () => Promise<string>) {
    this.#dir = dir;
    this.#readConfig = readConfig;
  }

  async append(
    { step, phase }: Pick<RecordedEpisode, 'step' | 'phase'>,
    records: readonly EpisodeRecord[],
    places: readonly LinePlace[],
  ): Promise<void> {
    if (records.length === 0) return;
    const kindField = await this.#readKindField();
    const rows = records.flatMap((record, at) => {
      const place = places[at];
      return place === undefined ? [] : [toEpisodeRow({ ...record, step, phase }, place, kindField)];
    });
    await mkdir(indexDirOf(this.#dir), { recursive: true });
    await appendFile(indexFileOf(this.#dir, step), toText(rows));
  }

  /**
   * Repairs the index so that it fits the episodes. This is necessary after a rewind, after a kill between a line and
   * its row, and if the index is lost.
   */
  async rewind(episodes: EpisodeFiles): Promise<void> {
    this.#keys = undefined; // a resumed run may have changed the configuration
    const steps = await episodes.steps();
    const kept = new Set(steps.map((step) => path.basename(indexFileOf(this.#dir, step))));
    for (const name of await readFolder(indexDirOf(this.#dir)))
      if (!kept.has(name)) await rm(path.join(indexDirOf(this.#dir), name), { recursive: true });
    for (const step of steps) await this.#repair(step, episodeFileOf(episodes.dir, step));
  }

  async #repair(step: number, file: string): Promise<void> {
    const size = await sizeOf(file);
    const indexFile = indexFileOf(this.#dir, step);
    const known = await readIndex(indexFile, file, size);
    if (Buffer.byteLength(toText(known)) === (await sizeOf(indexFile)) && endOf(known) === size) return;
    await mkdir(indexDirOf(this.#dir), { recursive: true });
    const rows = [...known, ...(await scanRows(file, endOf(known), await this.#readKindField()))];
    await replaceFile(indexFile, toText(rows), { isFlushed: false });
  }

  async #readKindField(): Promise<string | null> {
    this.#keys ??= readRecordKeys(await this.#readConfig());
    return this.#keys.kindField;
  }
}

/** The position after the last line that the rows describe. */
const endOf = (rows: readonly EpisodeRow[]): number => {
  const last = rows.at(-1);
  return last === undefined ? 0 : last.offset + last.length + 1;
};

const toText = (rows: readonly EpisodeRow[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
