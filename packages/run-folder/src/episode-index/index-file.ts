import { open } from 'node:fs/promises';
import path from 'node:path';
import { isJsonObject, parseJson } from '@agentjet/core';
import { episodeFileName } from '../episode-files.js';
import { readTextFile } from '../json-lines.js';
import { isEpisodeRow, type EpisodeRow } from './episode-row.js';

export const indexDirOf = (runDir: string): string => path.join(runDir, 'index');

/**
 * Returns the path of the index of a step, such as index/step-000012.jsonl. It has one row per episode of the step, in
 * the order of the lines in episodes/.
 */
export const indexFileOf = (runDir: string, step: number): string =>
  path.join(indexDirOf(runDir), episodeFileName(step));

/**
 * Returns the rows at the beginning of an index that follow each other without a gap. `size` is the number of bytes of
 * the file of episodes. Reading stops at a gap, at an incomplete row, and at a row that does not fit the file. The
 * caller scans the remaining lines instead. The index is a copy of facts in the lines, so nothing is lost if it is
 * missing.
 */
export async function readIndex(indexFile: string, file: string, size: number): Promise<readonly EpisodeRow[]> {
  const rows: EpisodeRow[] = [];
  let end = 0;
  const text = await readTextFile(indexFile).catch(() => ''); // an index that cannot be read is not needed
  for (const line of text.split('\n')) {
    const row = parseJson(line);
    if (!isJsonObject(row) || !isEpisodeRow(row)) break;
    const known = row as unknown as EpisodeRow;
    if (known.offset !== end || known.offset + known.length + 1 > size) break;
    rows.push(known);
    end = known.offset + known.length + 1;
  }
  return (await isOf(file, rows.at(-1))) ? rows : [];
}

/**
 * Returns whether the row's line begins with the id of its episode. If this is true of the last row, the file was not
 * rewritten after the index.
 */
async function isOf(file: string, row: EpisodeRow | undefined): Promise<boolean> {
  if (row === undefined) return true;
  const beginning = Buffer.from(`{"episode_id":${JSON.stringify(row.episode_id)},`);
  const handle = await open(file);
  try {
    const { buffer } = await handle.read(Buffer.alloc(beginning.length), 0, beginning.length, row.offset);
    return buffer.equals(beginning);
  } finally {
    await handle.close();
  }
}
