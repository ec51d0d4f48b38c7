import { appendFile, mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { replaceFile } from '@agentjet/core';
import { episodeFileOf, type EpisodeFiles } from '../episode-files.js';
import type { EpisodeRecord, RecordedEpisode } from '../episode-record.js';
import { readFolder } from '../file-error.js';
import { readTextFile } from '../json-lines.js';
import { toEpisodeRow, type EpisodeRow, type LinePlace } from './episode-row.js';
import { indexDirOf, indexFileOf } from './index-file.js';
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
    const indexFile = indexFileOf(this.#dir, step);
    const text = toText(await scanRows(file, 0, await this.#readKindField()));
    const present = await readTextFile(indexFile).catch(() => undefined);
    if (text === present) return;
    if (present === undefined) await rm(indexFile, { recursive: true }); // something else is in its place
    await mkdir(indexDirOf(this.#dir), { recursive: true });
    await replaceFile(indexFile, text, { isFlushed: false });
  }

  async #readKindField(): Promise<string | null> {
    this.#keys ??= readRecordKeys(await this.#readConfig());
    return this.#keys.kindField;
  }
}

const toText = (rows: readonly EpisodeRow[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
